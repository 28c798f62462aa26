-- _waits_for_signal: whether a job waits for a signal with this name, alone or among other waits.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   resume, signal
create or replace function plait._waits_for_signal(p_live plait.live, p_name text) returns boolean
language sql stable as $$
  select p_live.state = 'waiting'
         and (p_live.wait_on = 'signal ' || p_name
              or p_live.wait_on = 'several'
                 and exists (
                   select from plait.steps s
                   where s.job_id = p_live.job_id and not s.done and s.error is null
                     and s.kind = 'signal' and s.name = 'signal ' || p_name)) $$;
