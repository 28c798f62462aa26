-- _wake_workers: notify sleeping workers that these queues have work.
--
--   moves    nothing
--   locks    tries one of plait's own locks for each queue: never waits
--   raises   nothing
--   called   by more than a dozen functions
--
-- NOTIFY takes a server-wide lock at commit. It is sent only if a worker sleeps, and by only one of
-- several concurrent enqueuers: an enqueuer that does not get the lock relies on the notification
-- of the enqueuer that holds it, and a worker polls once more, 30 ms later, before it goes to
-- sleep.
-- p_always: notify without the try-lock. A user's own transaction may commit much later, and logins
-- that are not plait's own must not hold the lock.
create or replace function plait._wake_workers(p_queues text[], p_always boolean default null)
returns void language plpgsql as $$
declare v_queue text;
begin
  p_always := coalesce(p_always, not pg_has_role(session_user, 'plait_worker', 'member'));
  if not p_always and not exists (select from plait.workers where asleep) then
    return;
  end if;
  for v_queue in select distinct q from unnest(p_queues) q loop
    if p_always
       or (exists (select from plait.workers where asleep and v_queue = any(queues))
           and (plait._try_lock('wake ' || v_queue)
                or not exists (select from plait.locks where name = 'wake ' || v_queue))) then
      perform plait._notify('queue ' || v_queue);
    end if;
  end loop;
end $$;
