-- _status_without_lease: `stale`, or `suspended` if the same call succeeded before.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_steps, continue_as_new, open_fan_out, open_nodes
--
-- The reply to a call whose attempt no longer has the lease. If the call succeeded before and its
-- reply was lost, the repeated call must get the same reply.
create or replace function plait._status_without_lease(p_worker int, p_job uuid, p_attempt int)
returns text language sql stable as $$
  select case when exists (select from plait.attempts a
                           where a.job_id = p_job and a.attempt = p_attempt and a.worker = p_worker
                             and a.status = 'suspended') then 'suspended'
              else 'stale' end $$;
