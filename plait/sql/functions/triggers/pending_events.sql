-- pending_events: events that are not dispatched yet, each with the triggers that it matches.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.events.pending_events
--
-- Round-robin over tenants: first the oldest event of each tenant, then the second, so that no
-- tenant waits for another tenant's backlog or locked triggers. A page ends early when its events
-- and triggers reach 4 MB, so that a tenant with a thousand triggers can't fill the leader's
-- memory. A trigger that was created after the event does not fire for it. p_skip: events that the
-- caller has postponed, because a user's transaction holds a row that they need.
create or replace function plait.pending_events(p_limit int default 100, p_skip uuid[] default '{}')
returns table (id uuid, name text, at timestamptz, correlation_id text, data text, tenant_id uuid,
               tenant_slug text, tenant_name text, triggers text)
language sql stable security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
  with recursive n as (
    (select p.tenant_id
     from plait.events p
     where p.dispatched_at is null
     order by p.tenant_id limit 1)
    union all
    select (select p.tenant_id
            from plait.events p
            where p.dispatched_at is null and p.tenant_id > n.tenant_id
            order by p.tenant_id limit 1)
    from n
    where n.tenant_id is not null
  ), turns as (
    select p.id, p.turn from n cross join lateral (
      select p.id, row_number() over (order by p.id) as turn from plait.events p
      where p.dispatched_at is null and p.tenant_id = n.tenant_id and p.id <> all(p_skip)
      order by p.id limit 1 + p_limit / greatest(1, (select count(*) from n))) p
    order by p.turn, p.id limit p_limit
  ), sized as (
    select turns.turn, p.*,
           1000 + octet_length(p.data::text) + coalesce(
             (
               select sum(1000 + octet_length(t.payload::text)
                            + coalesce((select octet_length(d.schema::text)
                                        from plait.definitions d
                                        where d.name = t.definition),
                                       0))
               from plait.triggers t
               where t.tenant_id = p.tenant_id and t.event_name = p.name and t.kind = 'event'
                 and t.enabled and t.deleted_at is null and t.created_at <= p.at),
             0) as size
    from turns
    join plait.events p on p.id = turns.id
  ), page as (
    select s.*, sum(s.size) over (order by s.turn, s.size, s.id) - s.size as size_before
    from sized s
  )
  select e.id, e.name, e.at, e.correlation_id, e.data::text, o.id, o.slug, o.name,
         coalesce(
           (select json_agg(
              json_build_object(
                'id', t.id, 'revision', t.revision, 'label', t.label, 'definition', t.definition,
                'payload', t.payload::text, 'dedupe_key', t.dedupe_key,
                'correlation_id', t.correlation_id, 'limit_key', t.limit_key,
                'schema',
                  (select d.schema::text from plait.definitions d where d.name = t.definition))
              order by t.id)
            from plait.triggers t
            where t.tenant_id = e.tenant_id and t.event_name = e.name and t.kind = 'event'
              and t.enabled and t.deleted_at is null and t.created_at <= e.at)::text,
           '[]')
  from page e
  join plait.tenants o on o.id = e.tenant_id
  where e.size_before < 4000000
  order by e.turn, e.size, e.id
$$;
