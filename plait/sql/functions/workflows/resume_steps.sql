-- resume_steps: the steps of a durable job, for a replay, in the order in which they began.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE; changes only rows of this job
--   raises   nothing: without the lease, one row without a name
--   called   plait.store.workflows.resume_steps
--
-- If a job has only one wait at a time, the end of that wait is recorded here, which saves a round
-- trip. With several branches or a timer, the handler may have canceled a wait since, and it
-- reports that first, with await_steps. All steps are returned, but values only until they reach
-- p_bytes; step_values returns the other values (left_out).
create or replace function plait.resume_steps(
  p_worker int, p_job uuid, p_attempt int, p_bytes int default null
) returns table (branch text, name text, occurrence int, seq int, finished int, kind text,
                 hash text, value text, error text, done boolean, due_at timestamptz,
                 fan_out_id uuid, decision text, decided_ended int, total int, left_out boolean)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_value json;
  v_bytes bigint := 0;
begin
  perform from plait.live l
  where l.job_id = p_job and l.attempt = p_attempt and l.worker + 0 = p_worker for key share;
  if not found then
    return next;
    return;
  end if;
  if (select count(*) = 1
      from plait.steps s
      where s.job_id = p_job and not s.done and s.error is null)
     and not exists (select from plait.steps s
                     where s.job_id = p_job and (s.branch <> '' or s.kind = 'timer')) then
    perform plait._end_waits(
      p_job, plait.now(),
      (select coalesce(max(greatest(s.finished, s.seq)), 0) + 1
       from plait.steps s
       where s.job_id = p_job));
  end if;
  -- Estimate the size from the sizes on disk, without reading values: an uncompressed value is at
  -- most 255 times as large.
  if coalesce((select sum(pg_column_size(s.value)::bigint
                            * case when pg_column_compression(s.value) is null then 1 else 255 end)
               from plait.steps s
               where s.job_id = p_job) <= p_bytes,
              true) then
    return query
      select s.branch, s.name, s.occurrence, s.seq, s.finished, s.kind, s.hash, s.value::text,
             s.error, s.done, s.due_at, s.fan_out_id, f.decision, f.decided_ended, f.total, false
      from plait.steps s
      left join plait.fan_outs f on f.id = s.fan_out_id
      where s.job_id = p_job
      order by s.seq, s.branch, s.name, s.occurrence;
    return;
  end if;
  for branch, name, occurrence, seq, finished, kind, hash, v_value, error, done, due_at, fan_out_id,
      decision, decided_ended, total in
    select s.branch, s.name, s.occurrence, s.seq, s.finished, s.kind, s.hash, s.value, s.error,
           s.done, s.due_at, s.fan_out_id, f.decision, f.decided_ended, f.total
    from plait.steps s
    left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job
    order by s.seq, s.branch, s.name, s.occurrence
  loop
    left_out := v_value is not null and v_bytes >= p_bytes;
    value := case when not left_out then v_value::text end;
    v_bytes := v_bytes + coalesce(octet_length(value), 0);
    return next;
  end loop;
end $$;
