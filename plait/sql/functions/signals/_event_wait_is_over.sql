-- _event_wait_is_over: whether a row of event_waits is obsolete: its step or its job has ended.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_event, _signal_event_waits
--
-- A canceled step has ended. If the step is not stored yet, the job is about to wait, so the row is
-- still needed.
create or replace function plait._event_wait_is_over(p_wait plait.event_waits) returns boolean
language sql stable as $$
  select not exists (select from plait.live l where l.job_id = p_wait.job_id)
         or coalesce((select bool_and(s.done or s.error is not null)
                      from plait.steps s
                      where s.job_id = p_wait.job_id and s.branch = p_wait.branch
                        and s.name = 'signal ' || p_wait.signal),
                     false) $$;
