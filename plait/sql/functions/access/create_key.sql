-- create_key: create an API key. Only its hash is stored.
--
--   moves    nothing
--   locks    the parent key's row FOR SHARE; SKIP LOCKED, up to 100 keys of identity-provider
--            sessions that expired over 30 days ago, to delete them
--   raises   PL012 for an invalid setting, PL003 if there is no such tenant, PL004 if p_parent is
--            revoked or has expired
--   called   plait.store.keys.create_key
--
-- A key does not outlive the key that it was created with (p_parent). By default both expire
-- together. There is one exception: the key of a person who signed in through an identity provider
-- expires with the session, so a key created with it may live for up to a year. Default: 90 days.
create or replace function plait.create_key(
  p_hash text, p_hint text, p_name text, p_role text, p_tenant uuid, p_expires_at timestamptz,
  p_created_by text, p_parent uuid default null
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id      uuid := plait.uuidv7();
  v_now     timestamptz := plait.now();
  v_parent  plait.keys;
  v_latest  timestamptz;
begin
  if p_parent is not null then
    select * into v_parent from plait.keys where id = p_parent for share;
    if not found or v_parent.revoked_at is not null or v_parent.expires_at <= v_now then
      raise exception 'the parent key is revoked or has expired'
        using errcode = 'PL004';
    end if;
    v_latest := case when v_parent.created_by = 'oidc' then v_now + interval '1 year'
                     else v_parent.expires_at end;
    if p_expires_at > v_latest then
      raise exception 'expires_at must not be later than %, the limit set by the parent key, got %',
        v_latest, p_expires_at
        using errcode = 'PL012';
    end if;
    p_expires_at := coalesce(
      p_expires_at,
      case when v_parent.created_by = 'oidc' then v_now + interval '90 days' else v_latest end);
  end if;
  if p_tenant is not null and not exists (select from plait.tenants where id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
  end if;
  if p_expires_at <= v_now then
    raise exception 'expires_at must be in the future, got %', p_expires_at using errcode = 'PL012';
  end if;
  delete from plait.keys
  where id in (
    select k.id
    from plait.keys k
    where k.created_by = 'oidc' and k.expires_at < plait.now() - interval '30 days' limit 100
    for update skip locked);
  insert into plait.keys (
    id, tenant_id, hash, hint, name, role, created_by, created_at, expires_at, parent_id)
  values (
    v_id, p_tenant, p_hash, p_hint, p_name, p_role, p_created_by, v_now, p_expires_at, p_parent);
  return v_id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'invalid key: %', sqlerrm using errcode = 'PL012';
end $$;
