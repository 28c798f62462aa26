-- _tenant_or_all: the tenant that a reader is limited to; null for all, for admins only.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 if p_all is set by a login that may not read across tenants, or with p_tenant;
--            otherwise as _tenant
--   called   by more than a dozen functions
create or replace function plait._tenant_or_all(p_tenant uuid, p_all boolean) returns uuid
language plpgsql stable as $$
begin
  if not coalesce(p_all, false) then
    return plait._tenant(p_tenant);
  end if;
  if p_tenant is not null or exists (select from plait.logins where login = session_user)
     or not pg_has_role(session_user, 'plait_admin', 'member') then
    raise exception 'only the role plait_admin may read the data of all tenants'
      using errcode = 'PL004';
  end if;
  return null;
end $$;
