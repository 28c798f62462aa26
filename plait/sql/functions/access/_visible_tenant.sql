-- _visible_tenant: the tenant whose rows the session may read; null: no rows.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: unset, empty and malformed settings show no rows
--   called   plait.store.signals._tenant, plait.store.tenants.own_tenant_id, the schema
--
-- Every row-level security policy calls this function. Inside a SECURITY DEFINER function
-- current_user is the owner, so session_user decides. A bound login always sees its own tenant. The
-- setting plait.tenant applies only to trusted roles.
create or replace function plait._visible_tenant() returns uuid
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare
  v_tenant  uuid;
  v_setting text := current_setting('plait.tenant', true);
begin
  select tenant_id into v_tenant from plait.logins where login = session_user;
  if found then
    return v_tenant;
  end if;
  if v_setting ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'
     and (pg_has_role(session_user, 'plait_client', 'member')
          or pg_has_role(session_user, 'plait_worker', 'member')
          or pg_has_role(session_user, 'plait_admin', 'member')) then
    return v_setting::uuid;
  end if;
  return null;
end $$;
