-- _has_started: whether a job that is not running has started since its enqueue or last retry.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _begin_serial, _cancel_remaining
--
-- Testing `attempt = 0` is not enough: a retry increases `attempt` too, and so does a claim that
-- was released before the handler began.
create or replace function plait._has_started(p_job uuid) returns boolean
language sql stable as $$
  select exists (
    select from plait.attempts a
    where a.job_id = p_job and (a.started_at is not null or a.status = 'suspended')
      and a.attempt > coalesce(
        (select max(r.attempt)
         from plait.attempts r
         where r.job_id = p_job and r.reason = 'retried' and r.claimed_at is null),
        0)) $$;
