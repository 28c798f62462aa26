-- list_prefetched: how many claimed jobs of each living worker wait for a slot.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.list_prefetched
--
-- As of the last heartbeat. In plait.live such a job is `running` like one that has started: it
-- belongs to one worker.
create or replace function plait.list_prefetched() returns table (worker int, prefetched int)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.prefetched from plait.workers w where w.state = 'alive'
$$;
