-- create_key: a new key for the API, of which only the hash is ever stored.
--
--   moves    nothing
--   locks    keys SKIP LOCKED that were made for a session that ended a month ago: they go
--   raises   PL012 for an invalid setting, PL003 no such tenant
--   called   plait.store.keys.create_key
create or replace function plait.create_key(
  p_hash text, p_hint text, p_name text, p_role text, p_tenant uuid, p_expires_at timestamptz, p_created_by text
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_id uuid := plait.uuidv7();
begin
  if p_tenant is not null and not exists (select from plait.tenants where id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
  end if;
  if p_expires_at <= plait.now() then
    raise exception 'a key expires later than now' using errcode = 'PL012';
  end if;
  delete from plait.keys where id in (
    select k.id from plait.keys k where k.created_by = 'oidc' and k.expires_at < plait.now() - interval '30 days' limit 100 for update skip locked);
  insert into plait.keys (id, tenant_id, hash, hint, name, role, created_by, created_at, expires_at)
  values (v_id, p_tenant, p_hash, p_hint, p_name, p_role, p_created_by, plait.now(), p_expires_at);
  return v_id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'an invalid key: %', sqlerrm using errcode = 'PL012';
end $$;
