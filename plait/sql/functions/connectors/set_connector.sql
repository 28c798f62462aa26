-- set_connector: replace a tenant's settings for a type of connector; null removes them.
--
--   moves    nothing
--   locks    the row of the tenant's connector
--   raises   PL012 for an unknown type, or settings that are not a JSON object of at most 16 KiB,
--            PL003 no such tenant
--   called   plait.store.connectors.set_connector, users
--
--   p_type       `http`, `webhook` or `report`
--   p_settings   a JSON object of at most 16 KiB; null removes the settings
--   p_by         author of the change, stored with the settings. Default: the login
--
--   select plait.set_connector('http', '{"timeout": 10, "hosts": ["api.example"]}');
create or replace function plait.set_connector(
  p_type text, p_settings json, p_tenant uuid default null, p_by text default null
) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  perform plait._require_read_committed();
  if p_settings is null then
    delete from plait.connectors where tenant_id = v_tenant and type = p_type;
    return;
  end if;
  insert into plait.connectors (tenant_id, type, settings, updated_at, updated_by)
  values (v_tenant, p_type, p_settings, plait.now(), coalesce(p_by, session_user))
  on conflict (tenant_id, type) do update set
    settings = excluded.settings, updated_at = excluded.updated_at,
    updated_by = excluded.updated_by;
exception
when foreign_key_violation then
  raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
when check_violation or not_null_violation then
  raise exception 'type must be http, webhook or report, and settings must be a JSON object of at most 16 KiB'
    using errcode = 'PL012';
end $$;
