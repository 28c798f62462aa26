-- list_attempts: a job's attempts, in order.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.list_attempts, users
--
--   select attempt, status, reason, error from plait.list_attempts(:'failed_job');
create or replace function plait.list_attempts(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (attempt int, status text, final text, worker int, host text, pid int,
                 claimed_at timestamptz, started_at timestamptz, finished_at timestamptz,
                 exit_code int, reason text, error text, traceback text, result text, progress text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select a.attempt, a.status::text, a.final::text, a.worker, w.host, coalesce(a.pid, w.pid),
           a.claimed_at, a.started_at, a.finished_at, a.exit_code, a.reason, a.error, a.traceback,
           a.result::text, a.progress::text
    from plait.attempts a
    left join plait.workers w on w.id = a.worker
    where a.job_id = p_job
    order by a.attempt;
end $$;
