-- tenant_id: look up a tenant's id by its slug, or by its id as text.
--
--   moves    nothing
--   locks    nothing
--   raises   PL003 if there is no such tenant, or the caller may not name it, PL004 if the login is
--            neither bound nor trusted
--   called   after, declare_triggers, emit, enqueue, has_failed_siblings, has_pending_children,
--            spawn, plait.store.caller_connections.enqueue_async_on,
--            plait.store.caller_connections.enqueue_sync_on, plait.store.signals._tenant,
--            plait.store.tenants.tenant_id, users
--
--   p_tenant   slug, or id as text
--
--   select plait.tenant_id('default');
--
-- For a bound login, every other tenant is reported as unknown.
--
-- set_tenant rejects slugs that look like an id, so the two cannot be confused.
create or replace function plait.tenant_id(p_tenant text) returns uuid
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare
  v_id    uuid;
  v_bound uuid;
begin
  select tenant_id into v_bound from plait.logins where login = session_user;
  if not found then
    -- rejects a login that is not trusted, even if the tenant does not exist
    perform plait._tenant('00000000-0000-7000-8000-000000000000');
  end if;
  if p_tenant ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    select id into v_id from plait.tenants where id = p_tenant::uuid and id = coalesce(v_bound, id);
  else
    select id into v_id from plait.tenants where slug = p_tenant and id = coalesce(v_bound, id);
  end if;
  if v_id is null then
    raise exception 'there is no tenant %', coalesce(quote_literal(p_tenant), 'null')
      using errcode = 'PL003';
  end if;
  return v_id;
end $$;
