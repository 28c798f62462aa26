-- _bound_tenant: the tenant that this login is bound to; null for a trusted role.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a login that is neither bound nor trusted
--   called   enqueue_many, _tenant
create or replace function plait._bound_tenant() returns uuid
language plpgsql stable as $$
declare v_tenant uuid;
begin
  select tenant_id into v_tenant from plait.logins where login = session_user;
  if not found
     and not (pg_has_role(session_user, 'plait_client', 'member')
              or pg_has_role(session_user, 'plait_worker', 'member')
              or pg_has_role(session_user, 'plait_admin', 'member')) then
    raise exception 'this login is not bound to a tenant' using errcode = 'PL004';
  end if;
  return v_tenant;
end $$;
