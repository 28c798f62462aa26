-- set_trigger: create or change a trigger, by its label; keys that are absent stay.
--
--   moves    nothing
--   locks    the trigger's row
--   raises   PL012 for an invalid or unknown setting, PL003 no such tenant, PL005 one too many, PL007 for an inactive definition, PL009 for more than a
--            pause of one that is in code
--   called   plait.store.triggers.set_trigger
--
--   select plait.set_trigger('nightly', '{"definition": "sync", "cron": "0 2 * * *", "time_zone": "America/New_York"}');
--   select plait.set_trigger('resync', '{"definition": "sync", "event_name": "folder.updated", "payload": {"path": "{{event.path}}"}}');
create or replace function plait.set_trigger(p_label text, p_settings json, p_tenant uuid default null) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  return plait._set_trigger(v_tenant, p_label, p_settings, 'api');
end $$;
