-- tenant_id: a tenant's id by its slug or by its id as text.
--
--   moves    nothing
--   locks    nothing
--   raises   PL003 when there is none that the caller may name
--   called   plait.store.tenants.tenant_id
create or replace function plait.tenant_id(p_tenant text) returns uuid
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare
  v_id    uuid;
  v_bound uuid;
begin
  select tenant_id into v_bound from plait.logins where login = session_user;
  select id into v_id from plait.tenants where (slug = p_tenant or id::text = lower(p_tenant)) and id = coalesce(v_bound, id);
  if not found then
    raise exception 'there is no tenant %', quote_literal(p_tenant) using errcode = 'PL003';
  end if;
  return v_id;
end $$;
