-- list_keys: API keys, newest first, including revoked and expired keys.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.keys.list_keys, users
--
--   p_key   only the key with this id
--
--   select name, role, hint, expires_at from plait.list_keys();
create or replace function plait.list_keys(
  p_tenant uuid default null, p_all boolean default false, p_key uuid default null,
  p_before uuid default null, p_limit int default 50
) returns table (
  id uuid, tenant_id uuid, hint text, name text, role text, created_by text, created_at timestamptz,
  expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select k.id, k.tenant_id, k.hint, k.name, k.role, k.created_by, k.created_at, k.expires_at,
           k.revoked_at, k.last_used_at
    from plait.keys k
    where (v_tenant is null or k.tenant_id = v_tenant) and (p_key is null or k.id = p_key)
      and k.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by k.id desc limit plait._page_size(p_limit);
end $$;
