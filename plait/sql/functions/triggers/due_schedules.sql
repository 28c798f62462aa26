-- due_schedules: schedules with an instant that is due, or whose next instant is not computed yet.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.triggers.due_schedules
--
-- The caller uses `now` to decide which instants are due, because its own clock may be wrong.
-- p_after: the last schedule of the previous page. Locked schedules do not delay the others.
create or replace function plait.due_schedules(p_limit int default 100, p_after uuid default null)
returns table (
  now timestamptz, id uuid, revision int, label text, definition text, cron text, every_s float8,
  time_zone text, anchor_at timestamptz, cursor_at timestamptz, catch_up text,
  catch_up_window_s float8, payload text, dedupe_key text, correlation_id text, limit_key text,
  tenant_id uuid, tenant_slug text, tenant_name text, schema text)
language sql stable security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
  select c.now, t.id, t.revision, t.label, t.definition, t.cron, t.every_s,
         coalesce(t.time_zone, n.time_zone), t.anchor_at, t.cursor_at, t.catch_up,
         t.catch_up_window_s, t.payload::text, t.dedupe_key, t.correlation_id, t.limit_key, n.id,
         n.slug, n.name,
         (select d.schema::text from plait.definitions d where d.name = t.definition)
  from (select plait.now() as now) c
  join plait.triggers t on t.next_at is null or t.next_at <= c.now
  join plait.tenants n on n.id = t.tenant_id
  where t.kind = 'schedule' and t.enabled and t.deleted_at is null and t.error is null
    and (p_after is null or t.id > p_after)
  order by t.id limit p_limit $$;
