-- list_workers: workers that are alive, and those that were lost or left within p_since.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.list_workers
create or replace function plait.list_workers(p_since interval default '1 hour')
returns table (id int, state text, host text, pid int, version text, queues text[], definitions text[], running int, metadata text,
               started_at timestamptz, seen_at timestamptz, expires_at timestamptz, seen_s float8, stale boolean)
language sql stable security definer set search_path = plait, pg_temp as $$
  select id, state, host, pid, version, queues, definitions, running, metadata::text, started_at, seen_at, expires_at,
         greatest(0, extract(epoch from plait.now() - seen_at))::float8, state = 'alive' and seen_at < plait.now() - make_interval(secs => lease_s / 2)
  from plait.workers where state = 'alive' or seen_at > plait.now() - p_since order by id
$$;
