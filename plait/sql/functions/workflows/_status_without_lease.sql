-- _status_without_lease: what to tell who has no lease: that it is lost, or that the very same call went through before its reply was lost.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_steps, continue_as_new, open_fan_out, open_nodes, suspend
create or replace function plait._status_without_lease(p_worker int, p_job uuid, p_attempt int) returns text
language sql stable as $$
  select case when exists (select from plait.attempts a where a.job_id = p_job and a.attempt = p_attempt and a.worker = p_worker
                           and a.status = 'suspended') then 'suspended' else 'stale' end
$$;
