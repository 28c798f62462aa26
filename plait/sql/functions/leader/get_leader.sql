-- get_leader: the leader's process and the address of its API; no row if there is no leader.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   explain_job, findings, plait.store.leader.get_leader, users
--
--   select holder, node, url from plait.get_leader();
--
-- node is null if the leader's process runs no worker.
create or replace function plait.get_leader()
returns table (holder text, term bigint, since timestamptz, expires_at timestamptz, node text,
               url text, worker int)
language sql stable security definer set search_path = plait, pg_temp as $$
  select l.holder, l.term, l.since, l.expires_at, n.name, n.url, w.id
  from plait.leader l
  left join lateral (select w.id, w.node
                     from plait.workers w
                     where w.state = 'alive' and w.holder = l.holder
                     order by w.id desc limit 1) w on true
  left join plait.nodes n on n.name = w.node
  where l.name = 'main' and l.expires_at > plait.now()
$$;
