-- list_tenants: all tenants, with their live jobs.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.tenants.list_tenants, users
--
--   select slug, paused, queued, running from plait.list_tenants();
create or replace function plait.list_tenants()
returns table (
  id uuid, slug text, name text, time_zone text, created_at timestamptz, paused boolean, weight int,
  max_running int, max_queued int, max_triggers int, queued bigint, running bigint,
  paused_at timestamptz, paused_by text, pause_reason text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select t.id, t.slug, t.name, t.time_zone, t.created_at, t.paused, t.weight::int, t.max_running,
         t.max_queued, t.max_triggers, coalesce(l.queued, 0), coalesce(l.running, 0),
         t.paused_at, t.paused_by, t.pause_reason
  from plait.tenants t
  left join (select tenant_id, sum(jobs) filter (where state <> 'running')::bigint as queued,
                    sum(jobs) filter (where state = 'running')::bigint as running
             from plait._live_counts(null)
             group by tenant_id) l
    on l.tenant_id = t.id
  order by t.slug
$$;
