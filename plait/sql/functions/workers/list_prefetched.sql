-- list_prefetched: how many jobs each living worker has claimed that wait for a slot, as of its last heartbeat.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.list_prefetched
--
-- In plait.live such a job is `running` like those that have started: it is one worker's, and nobody else may take it.
create or replace function plait.list_prefetched() returns table (worker int, prefetched int)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.prefetched from plait.workers w where w.state = 'alive'
$$;
