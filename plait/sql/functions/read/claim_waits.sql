-- claim_waits: how long jobs waited from their enqueue or due time to their first claim.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.metrics.claim_waits
--
-- Claims do not store waiting times, so a worker calls this function at most once a second for a
-- few of the jobs that it has just claimed. Later attempts and jobs with dependencies are left out,
-- because they do not wait only for a worker.
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
