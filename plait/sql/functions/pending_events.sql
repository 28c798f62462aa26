-- pending_events: events whose triggers have not fired yet, oldest first, each with the triggers that it matches.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.events.pending_events
--
-- A trigger that was made after the event does not fire for it. p_after: the last of the page before. Who reads on past events that
-- can't be dispatched now, since somebody holds a trigger of theirs, lets no tenant keep the others waiting. A page ends early where its
-- events, with all that they match, come to some megabytes: a tenant with a thousand triggers must not fill the leader's memory.
create or replace function plait.pending_events(p_limit int default 100, p_after uuid default null)
returns table (id uuid, name text, at timestamptz, correlation_id text, data text, tenant_id uuid, tenant_slug text, tenant_name text,
               triggers text)
language sql stable security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
  with e as (
    select p.*, 1000 + octet_length(p.data::text) + coalesce((
        select sum(1000 + octet_length(t.payload::text)
                   + coalesce((select octet_length(d.schema::text) from plait.definitions d where d.name = t.definition), 0))
        from plait.triggers t where t.tenant_id = p.tenant_id and t.event_name = p.name and t.kind = 'event' and t.enabled
          and t.deleted_at is null and t.created_at <= p.at), 0) as size
    from plait.events p where p.dispatched_at is null and (p_after is null or p.id > p_after) order by p.id limit p_limit
  ), page as (select e.*, sum(e.size) over (order by e.id) - e.size as size_before from e)
  select e.id, e.name, e.at, e.correlation_id, e.data::text, n.id, n.slug, n.name,
         coalesce((select json_agg(json_build_object(
                     'id', t.id, 'revision', t.revision, 'label', t.label, 'definition', t.definition, 'payload', t.payload::text,
                     'dedupe_key', t.dedupe_key, 'correlation_id', t.correlation_id, 'limit_key', t.limit_key,
                     'schema', (select d.schema::text from plait.definitions d where d.name = t.definition)) order by t.id)
                   from plait.triggers t where t.tenant_id = e.tenant_id and t.event_name = e.name and t.kind = 'event' and t.enabled
                     and t.deleted_at is null and t.created_at <= e.at)::text, '[]')
  from page e join plait.tenants n on n.id = e.tenant_id
  where e.size_before < 4000000
  order by e.id
$$;
