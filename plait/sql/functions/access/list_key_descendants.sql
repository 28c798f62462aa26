-- list_key_descendants: API keys created with a key, directly or indirectly, newest first.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller has no such key, PL004 for a caller that may not read across
--            tenants
--   called   revoke_key, plait.store.keys.list_descendants
--
-- Includes revoked and expired keys.
create or replace function plait.list_key_descendants(
  p_key uuid, p_tenant uuid default null, p_all boolean default false
) returns table (
  id uuid, tenant_id uuid, hint text, name text, role text, created_by text, created_at timestamptz,
  expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.keys k
                 where k.id = p_key and (v_tenant is null or k.tenant_id = v_tenant)) then
    raise exception 'there is no key %', p_key using errcode = 'PL008';
  end if;
  return query
    with recursive below as (
      select k.* from plait.keys k where k.parent_id = p_key
      union
      select k.* from below b join plait.keys k on k.parent_id = b.id
    )
    select k.id, k.tenant_id, k.hint, k.name, k.role, k.created_by, k.created_at, k.expires_at,
           k.revoked_at, k.last_used_at
    from below k
    where v_tenant is null or k.tenant_id = v_tenant
    order by k.id desc limit 10000;
end $$;
