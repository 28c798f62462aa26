-- list_workers: workers that are alive, and workers that were lost or left within p_since.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   findings, plait.store.workers.list_workers, users
--
--   p_since   how long lost and stopped workers are listed
--
--   select id, state, host, queues, running from plait.list_workers();
--
-- prefetched: the number of claimed jobs that wait for a slot, as of the last heartbeat; their
-- status is also `running`. leads: true if the worker's process is the leader. blocked_since: when
-- a handler began to block the worker's event loop, as of the last heartbeat; blocked_job is null
-- if the worker could not determine which job it is.
create or replace function plait.list_workers(p_since interval default '1 hour')
returns table (
  id int, state text, host text, pid int, version text, queues text[], definitions text[],
  running int, prefetched int, metadata text, started_at timestamptz, seen_at timestamptz,
  expires_at timestamptz, seen_s float8, stale boolean, node text, draining boolean, leads boolean,
  blocked_since timestamptz, blocked_s float8, blocked_job uuid)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.state, w.host, w.pid, w.version, w.queues, w.definitions, w.running,
         case when w.state = 'alive' then w.prefetched else 0 end, w.metadata::text, w.started_at,
         w.seen_at, w.expires_at, greatest(0, extract(epoch from plait.now() - w.seen_at))::float8,
         w.state = 'alive' and w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2),
         w.node, w.draining,
         coalesce(w.state = 'alive'
                    and w.holder = (select l.holder
                                    from plait.leader l
                                    where l.name = 'main' and l.expires_at > plait.now()),
                  false),
         b.since,
         case when b.since is not null then
                greatest(0, extract(epoch from plait.now() - b.since))::float8 end,
         b.job
  from plait.workers w
  left join lateral (
    select w.blocked_since as since, w.blocked_job as job where w.state <> 'gone') b on true
  where w.state = 'alive' or w.seen_at > plait.now() - p_since
  order by w.id $$;
