-- write_logs: append lines to the logs of running attempts, for a whole process in one call.
--
--   moves    nothing
--   locks    live rows FOR KEY SHARE SKIP LOCKED
--   raises   check violations, and errors for fields that are not JSON
--   called   plait.store.logs.write
--
-- A line is identified by (job, attempt, line), so the call can be repeated. p_ages: how many
-- seconds ago each line was logged; its time is by the database's clock.
-- Returns for each line, in order: 1 if it is stored, 0 if the live row is locked (send it again),
-- -1 if the lease is lost: nothing was written for the line.
create or replace function plait.write_logs(
  p_workers int[], p_jobs uuid[], p_attempts int[], p_lines int[], p_ages float8[],
  p_levels text[], p_sources text[], p_loggers text[], p_messages text[], p_fields text[]
) returns int[]
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now  timestamptz := plait.now();
  v_held uuid[];
begin
  perform plait._require_read_committed();
  v_held := array(
    select l.job_id
    from plait.live l
    where l.job_id = any(p_jobs) and l.state = 'running'
    order by l.job_id for key share skip locked);
  insert into plait.log_lines (
    job_id, tenant_id, at, stored_at, attempt, line, level, source, logger, message, fields)
  select i.job_id, l.tenant_id, v_now - make_interval(secs => greatest(i.age, 0)), v_now, i.attempt,
         i.line, i.level, i.source, i.logger, i.message, i.fields::json
  from unnest(p_workers, p_jobs, p_attempts, p_lines, p_ages, p_levels, p_sources, p_loggers,
              p_messages, p_fields)
       i(worker, job_id, attempt, line, age, level, source, logger, message, fields)
  join plait.live l
    on l.job_id = i.job_id and l.attempt = i.attempt and l.worker = i.worker
      and l.state = 'running'
  where i.job_id = any(v_held)
  on conflict do nothing;
  return array(
    select case when l.job_id is null then -1 when i.job_id = any(v_held) then 1 else 0 end
    from unnest(p_workers, p_jobs, p_attempts) with ordinality i(worker, job_id, attempt, n)
    left join plait.live l
      on l.job_id = i.job_id and l.attempt = i.attempt and l.worker = i.worker
        and l.state = 'running'
    order by i.n);
end $$;
