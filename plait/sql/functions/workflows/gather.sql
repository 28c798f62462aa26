-- gather: outcomes of a fan-out's children, by index or, if it is streamed, as they ended.
--
--   moves    scheduled | queued | waiting -> canceled, for open children of a fan-out that is
--            marked cancel_due
--   locks    the same as _cancel_remaining, if the fan-out is marked cancel_due
--   raises   PL008 when the job has no such fan-out
--   called   plait.store.workflows.gather
--
-- Children that ended after the decision are left out. Before the decision, only a streamed fan-out
-- returns rows. Pass the last o_position as p_after to read the next page. A page ends with the row
-- at which its results and errors reach p_bytes. Rows are read one by one, so that a page reads no
-- more values than it returns; sizes on disk don't help, because values are compressed.
create or replace function plait.gather(
  p_job uuid, p_fan_out uuid, p_after int default -1, p_limit int default 5000,
  p_bytes int default null
) returns table (o_position int, fan_out_index int, job_id uuid, definition text, status text,
                 result text, error text, reason text, attempt int, failure text)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  f         plait.fan_outs;
  v_result  json;
  v_failure json;
  v_bytes   bigint := 0;
begin
  perform plait._require_read_committed();
  select o.* into f
  from plait.fan_outs o
  where o.id = p_fan_out
    and exists (select from plait.steps s where s.job_id = p_job and s.fan_out_id = p_fan_out);
  if not found then
    raise exception 'job % has no fan-out %', p_job, p_fan_out using errcode = 'PL008';
  end if;
  if f.cancel_due then
    perform plait._cancel_remaining(f, plait.now());
  end if;
  if f.streamed then
    -- First the page, then each of its rows by key, so that no plan reads all children for each
    -- row, whatever the statistics are.
    for o_position, fan_out_index, job_id, definition, status, v_result, error, reason, attempt,
        v_failure in
      with page as materialized (
        select o.position, o.fan_out_index
        from plait.fan_out_order o
        where o.fan_out_id = f.id and o.position > p_after
          and o.position <= coalesce(f.decided_ended, o.position)
        order by o.position limit p_limit
      )
      select p.position, p.fan_out_index, j.id, j.definition, a.final::text, a.result, a.error,
             a.reason, a.attempt, a.failure
      from page p
      cross join lateral (
        select c.id, c.definition
        from plait.jobs c
        where c.root_id = f.root_id and c.fan_out_id = f.id and c.fan_out_index = p.fan_out_index
        offset 0) j
      cross join lateral (
        select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
      order by p.position
    loop
      result := v_result;
      failure := v_failure;
      return next;
      v_bytes := v_bytes + coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0);
      exit when v_bytes >= p_bytes;
    end loop;
  else
    for o_position, fan_out_index, job_id, definition, status, v_result, error, reason, attempt,
        v_failure in
      with page as materialized (
        select j.fan_out_index, j.id, j.definition
        from plait.jobs j
        where j.root_id = f.root_id and j.fan_out_id = f.id and j.fan_out_index > p_after
          and f.decided_at is not null
          and (f.left_open is null or not j.fan_out_index = any(f.left_open))
        order by j.fan_out_index limit p_limit
      )
      select p.fan_out_index, p.fan_out_index, p.id, p.definition, a.final::text, a.result, a.error,
             a.reason, a.attempt, a.failure
      from page p
      cross join lateral (
        select t.* from plait.attempts t where t.job_id = p.id order by t.attempt desc limit 1) a
      order by p.fan_out_index
    loop
      result := v_result;
      failure := v_failure;
      return next;
      v_bytes := v_bytes + coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0);
      exit when v_bytes >= p_bytes;
    end loop;
  end if;
end $$;
