-- set_trigger: create or change a trigger, by its label. Absent settings do not change.
--
--   moves    nothing
--   locks    the tenant's triggers, with _lock_tenant, if the trigger must be new or
--            unchanged; then the trigger's row
--   raises   PL012 for an invalid or unknown setting, PL003 no such tenant, PL005 too many
--            triggers, PL007 for an inactive definition, PL009 for a change other than a pause to a
--            trigger that code declares, PL014 if it was changed since, or exists but must be new,
--            PL016 if another open transaction is changing the tenant's triggers
--   called   plait.store.triggers.set_trigger, users
--
--   p_label      the trigger's name within its tenant, 1 to 200 characters
--   p_settings   a JSON object. Schedule: `cron` or `every_s`, `time_zone`, `catch_up`,
--                `catch_up_window_s`, `overlap`, `jitter_s`. Event trigger: `event_name`. Both:
--                `definition`, `payload`, `queue`, `priority`, `max_attempts`, `timeout_s`,
--                `correlation_id`, `dedupe_key`, `dedupe_window_s`, `limit_key`, `enabled`,
--                `created_by`
--
--   select plait.set_trigger('nightly',
--     '{"definition": "sync", "cron": "0 2 * * *", "time_zone": "America/New_York"}');
--   select plait.set_trigger('resync',
--     '{"definition": "sync", "event_name": "folder.updated",
--       "payload": {"path": "{{event.path}}"}}');
create or replace function plait.set_trigger(
  p_label text, p_settings json, p_tenant uuid default null,
  p_unchanged_since timestamptz default null, p_new boolean default false
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  if p_new or p_unchanged_since is not null then
    perform plait._lock_tenant(v_tenant, 'triggers');
    if exists (select from plait.triggers t
               where t.tenant_id = v_tenant and t.label = p_label and t.deleted_at is null
                 and (p_new or t.updated_at <> p_unchanged_since)) then
      raise exception '%',
        case when p_new then 'a trigger with this label already exists'
             else 'the trigger was changed in the meantime: read it again' end
        using errcode = 'PL014';
    end if;
  end if;
  return plait._set_trigger(v_tenant, p_label, p_settings, 'api');
end $$;
