-- _resume_or_end_parent: resume or end the parent of a fan-out. No other function does this.
--
--   moves    waiting -> queued; -> any final status, if the fan-out is the job's own nursery; ->
--            canceled, if it depended on a job that failed; -> succeeded | failed | skipped, for a
--            node job that needs no leader action
--   locks    the caller holds the fan-out's row; the parent's live row SKIP LOCKED, because a
--            transaction that holds it may wait for the fan-out
--   raises   nothing
--   called   _apply_strategy, _record_decision, rescue
--
-- o_job: the parent, if it became final. The caller counts it in the fan-out that it belongs to.
create or replace function plait._resume_or_end_parent(
  p_fan_out plait.fan_outs, p_now timestamptz,
  out o_resumed boolean, out o_job uuid, out o_fan_out uuid, out o_final plait.status,
  out o_tied boolean
) language plpgsql as $$
declare
  v_on text := 'fan_out ' || p_fan_out.id;
  l    plait.live;
  a    plait.attempts;
  n    record;
begin
  select * into l
  from plait.live v
  where v.job_id = p_fan_out.parent_id and v.state = 'waiting' and v.wait_on in (v_on, 'several')
  for update skip locked;
  o_resumed := found;
  if found then
    if p_fan_out.id = p_fan_out.parent_id then
      -- the attempt in which its handler ended
      select * into a from plait.attempts t where t.job_id = l.job_id and t.attempt = l.attempt;
      o_final := coalesce(
        p_fan_out.parent_final,
        case p_fan_out.decision when 'succeeded' then 'succeeded' else 'failed' end::plait.status);
      perform plait._make_final(
        p_live => l, p_now => p_now,
        p_status => case o_final when 'dead_letter' then 'failed'
                                 else o_final::text end::plait.outcome,
        p_final => o_final,
        p_reason => case when p_fan_out.parent_final is not null then a.reason
                         when o_final = 'failed' then 'children_failed' end,
        p_error => case when p_fan_out.parent_final is not null then a.error
                        when o_final = 'failed'
                          then plait._describe_failed_children(p_fan_out) end,
        p_result => a.result,
        p_failure => case when p_fan_out.parent_final is not null then a.failure end);
    elsif p_fan_out.strategy = 'after' and p_fan_out.decision = 'failed' then
      o_final := 'canceled';
      perform plait._make_final(
        p_live => l, p_now => p_now, p_status => 'canceled', p_final => o_final,
        p_reason => 'dependency_failed', p_error => 'a job that it depended on did not succeed');
    elsif p_fan_out.on_timeout is not null then
      n := plait._node_job_outcome(p_fan_out, l.definition);
      o_final := n.o_final;
      if o_final is null then
        perform plait._resume_job(l);
      else
        perform plait._make_final(
          p_live => l, p_now => p_now, p_status => o_final::text::plait.outcome,
          p_final => o_final, p_reason => n.o_reason, p_error => n.o_error,
          p_result => n.o_result);
      end if;
    else
      perform plait._resume_job(l);
    end if;
    if o_final is not null then
      o_job := l.job_id; o_fan_out := l.fan_out_id; o_tied := l.tied;
    end if;
  elsif exists (select from plait.live v
                where v.job_id = p_fan_out.parent_id and v.wait_on in (v_on, 'several')) then
    return;  -- the parent's row is locked: rescue calls this again
  end if;
  update plait.fan_outs set waited_for = null where id = p_fan_out.id;
end $$;
