-- _wake: tell sleeping workers that these queues have work.
--
--   moves    nothing
--   locks    an advisory try-lock a queue, never waits
--   raises   nothing
--   called   by whatever makes a job claimable
--
-- NOTIFY takes a server-wide lock at commit, so it is sent only when somebody sleeps, and not by each of many enqueuers
-- at once: whoever misses the try-lock relies on the one that holds it, and a worker looks again some ms after it wakes.
-- A caller's own transaction may commit much later, so it always notifies (p_always).
create or replace function plait._wake(p_queues text[], p_always boolean default false) returns void
language plpgsql as $$
declare v_queue text;
begin
  if not p_always and not exists (select from plait.workers where asleep) then
    return;
  end if;
  for v_queue in select distinct q from unnest(p_queues) q loop
    if p_always or (exists (select from plait.workers where asleep and v_queue = any(queues))
                    and pg_try_advisory_xact_lock(hashtextextended('plait.wake ' || v_queue, 0))) then
      perform pg_notify('plait', 'queue ' || v_queue);
    end if;
  end loop;
end $$;
