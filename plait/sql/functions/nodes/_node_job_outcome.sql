-- _node_job_outcome: the outcome of a node job whose parts have ended; null: the leader acts.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _resume_or_end_parent
create or replace function plait._node_job_outcome(
  p_fan_out plait.fan_outs, p_definition text, out o_final plait.status, out o_reason text,
  out o_error text, out o_result json
) language plpgsql stable
set enable_seqscan = off as $$
declare v_silent text;
begin
  if p_fan_out.decision <> 'succeeded' then
    o_final := 'failed';
    o_reason := case p_fan_out.rule when 'timeout' then 'quorum_timeout' else p_fan_out.rule end;
    if p_fan_out.rule = 'timeout' then
      select string_agg(j.node, ', ' order by j.node) into v_silent
      from plait.jobs j
      where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id
        and j.fan_out_index = any(p_fan_out.left_open);
      o_error := format(
        '%s of %s nodes finished within %s s, but %s were required; no outcome from: %s',
        p_fan_out.succeeded, p_fan_out.total, p_fan_out.timeout_s, p_fan_out.needed, v_silent);
    else
      o_error := plait._describe_failed_children(p_fan_out);
    end if;
    return;
  end if;
  if p_fan_out.succeeded = p_fan_out.total and plait._all_skipped(p_fan_out) then
    o_final := 'skipped';
    o_reason := 'nodes_skipped';
    o_error := 'all nodes skipped their part';
  elsif not coalesce(
          (select d.on_leader from plait.definitions d where d.name = p_definition), true) then
    o_final := 'succeeded';
    select json_object_agg(j.node, a.result order by j.node) into o_result
    from plait.jobs j
    cross join lateral (select t.result, t.final
                        from plait.attempts t
                        where t.job_id = j.id
                        order by t.attempt desc limit 1) a
    where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and a.final = 'succeeded'
      and (p_fan_out.left_open is null or not j.fan_out_index = any(p_fan_out.left_open));
    o_result := coalesce(o_result, '{}');
  end if;
end $$;
