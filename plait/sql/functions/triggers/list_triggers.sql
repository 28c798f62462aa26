-- list_triggers: a tenant's triggers, by label, with their last and next firing.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.triggers.list_triggers, users
--
--   p_trigger   only the trigger with this id
--   p_label     only the trigger with this label
--
--   select label, enabled, next_at from plait.list_triggers();
create or replace function plait.list_triggers(
  p_tenant uuid default null, p_all boolean default false, p_trigger uuid default null,
  p_label text default null
) returns table (
  now timestamptz, id uuid, tenant_id uuid, tenant text, tenant_name text, label text, kind text,
  origin text, definition text, enabled boolean, event_name text, cron text, every_s float8,
  time_zone text, anchor_at timestamptz, cursor_at timestamptz, next_at timestamptz,
  last_at timestamptz, last_job_id uuid, fired bigint, missed bigint, skipped bigint, held bigint,
  catch_up text, catch_up_window_s float8, overlap text, jitter_s float8, dedupe_window_s int,
  queue text, priority int, max_attempts int, timeout_s float8, correlation_id text,
  dedupe_key text, limit_key text, payload json, created_by text, created_at timestamptz,
  updated_at timestamptz, error text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select plait.now(), t.id, t.tenant_id, n.slug::text, n.name, t.label::text, t.kind, t.origin,
           t.definition::text, t.enabled, t.event_name::text, t.cron, t.every_s,
           case when t.kind = 'schedule' then coalesce(t.time_zone, n.time_zone) end, t.anchor_at,
           t.cursor_at, t.next_at, t.last_at, t.last_job_id, t.fired, t.missed, t.skipped,
           (select count(*) from plait.fires f where f.trigger_id = t.id and f.outcome = 'held'),
           t.catch_up, t.catch_up_window_s, t.overlap, t.jitter_s, t.dedupe_window_s, t.queue::text,
           t.priority::int, t.max_attempts::int, t.timeout_s, t.correlation_id, t.dedupe_key,
           t.limit_key, t.payload, t.created_by, t.created_at, t.updated_at, t.error
    from plait.triggers t
    join plait.tenants n on n.id = t.tenant_id
    where t.deleted_at is null and (v_tenant is null or t.tenant_id = v_tenant)
      and (p_trigger is null or t.id = p_trigger) and (p_label is null or t.label = p_label)
    order by n.slug, t.label;
end $$;
