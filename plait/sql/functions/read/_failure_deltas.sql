-- _failure_deltas: how the failures of these jobs differ from the log: new, retried, deleted.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   count_failures, failure_group, failure_history, failure_workers, failures, overview
--
-- failures: 1 for a failure that is not in the log, 0 if the job was retried since, -1 if the job
-- was deleted. jobs: the change in the number of failed jobs. A job without changes has no rows, so
-- a caller may pass a job more than once.
create or replace function plait._failure_deltas(p_jobs uuid[])
returns table (
  tenant_id uuid, definition text, fingerprint text, status plait.status, finished_at timestamptz,
  job_id uuid, attempt int, worker int, current boolean, jobs int, failures int
)
language sql stable set enable_seqscan = off as $$
  select a.tenant_id, j.definition, plait._fingerprint(a.error), a.final, a.finished_at, a.job_id,
         a.attempt, a.worker, x.current, x.current::int, 1
  from plait.attempts a
  join plait.jobs j on j.id = a.job_id
  cross join lateral (
    select not exists (
      select from plait.attempts b
      where b.job_id = a.job_id and b.attempt > a.attempt) as current) x
  where a.job_id = any(p_jobs) and a.final in ('failed', 'dead_letter')
    and not exists (
      select from plait.failure_log l where l.job_id = a.job_id and l.attempt = a.attempt)
  union all
  select l.tenant_id, l.definition, l.fingerprint, l.status, l.finished_at, l.job_id, l.attempt,
         l.worker, false, -1, 0
  from plait.failure_log l
  where l.job_id = any(p_jobs) and l.current
    and exists (select from plait.attempts b where b.job_id = l.job_id and b.attempt > l.attempt)
  union all
  select l.tenant_id, l.definition, l.fingerprint, l.status, l.finished_at, l.job_id, l.attempt,
         l.worker, l.current, -l.current::int, -1
  from plait.failure_log l
  where l.job_id = any(p_jobs) and not exists (select from plait.jobs j where j.id = l.job_id)
$$;
