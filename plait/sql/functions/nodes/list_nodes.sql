-- list_nodes: the nodes of the cluster and their states: active, draining, lost or left.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   findings, plait.store.nodes.list_nodes, users
--
--   select name, state, leads from plait.list_nodes();
--
-- A node is `lost` as soon as its last lease has expired, even if no worker has been declared lost
-- yet. open: the number of parts of node jobs that wait for the node or run on it.
create or replace function plait.list_nodes()
returns table (
  name text, state text, leads boolean, url text, version text, labels text, workers int,
  running int, open int, joined_at timestamptz, seen_at timestamptz, seen_s float8)
language sql stable security definer set search_path = plait, pg_temp as $$
  select n.name,
         case when n.state in ('active', 'draining') and coalesce(w.alive, 0) = 0 then 'lost'
              else n.state end,
         coalesce(w.leads, false), n.url, w.version, n.labels::text, coalesce(w.alive, 0)::int,
         coalesce(w.running, 0)::int, coalesce(p.open, 0)::int,
         n.joined_at, coalesce(w.seen_at, n.joined_at),
         greatest(0, extract(epoch from plait.now() - coalesce(w.seen_at, n.joined_at)))::float8
  from plait.nodes n
  left join (
    select w.node,
           count(*) filter (where w.state = 'alive' and w.expires_at > plait.now()) as alive,
           sum(w.running) filter (
             where w.state = 'alive' and w.expires_at > plait.now()) as running,
           max(w.seen_at) as seen_at, (array_agg(w.version order by w.id desc))[1] as version,
           bool_or(w.state = 'alive'
                   and w.holder = (select l.holder
                                   from plait.leader l
                                   where l.name = 'main' and l.expires_at > plait.now())) as leads
    from plait.workers w
    where w.node is not null
    group by w.node) w
    on w.node = n.name
  left join (
    select substring(l.lane from '^(?:suspect:)?n:(.*)') as node, count(*) as open from plait.live l
    where l.lane <> '' group by 1) p on p.node = n.name
  order by n.name
$$;
