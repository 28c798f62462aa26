-- list_places: each worker's node, whether it drains, and whether its process leads.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.list_places
create or replace function plait.list_places() returns table (worker int, node text, draining boolean, leads boolean)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.node, w.draining, w.state = 'alive' and w.holder is not null
           and w.holder = (select l.holder from plait.leader l where l.name = 'main' and l.expires_at > plait.now())
  from plait.workers w
$$;
