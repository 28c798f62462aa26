-- claim_waits: how long jobs had waited, since they were enqueued or due, at their first claim.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.metrics.claim_waits
--
-- A worker calls it for a few of the jobs that it has just claimed, at most once a second, because
-- claims do not store waiting times. Later attempts and jobs with dependencies are left out: they
-- have waited for other things too.
create or replace function plait.claim_waits(p_jobs uuid[])
returns table (queue text, waited_s float8) language sql stable security definer
set search_path = plait, pg_temp as $$
  select j.queue::text,
         greatest(0,
                  extract(epoch from coalesce(l.run_at, a.claimed_at)
                            - coalesce(j.scheduled_for, j.created_at)))::float8
  from plait.jobs j
  left join plait.live l on l.job_id = j.id and l.state = 'running' and l.attempt = 1
  left join plait.attempts a on a.job_id = j.id and a.attempt = 1
  where j.id = any(p_jobs[:1000]) and j.after is null
    and coalesce(l.run_at, a.claimed_at) is not null $$;
