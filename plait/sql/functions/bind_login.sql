-- bind_login: bind a login of role plait_tenant to a tenant; null unbinds it.
--
--   moves    nothing
--   locks    the login's row
--   raises   PL012 when the login does not exist, or may act for more than one tenant; PL003 when there is no such tenant
--   called   plait.store.tenants.bind_login
create or replace function plait.bind_login(p_login name, p_tenant uuid) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
begin
  perform plait._require_read_committed();
  if p_tenant is null then
    delete from plait.logins where login = p_login;
    return;
  end if;
  if not exists (select from pg_roles where rolname = p_login and not rolsuper and not rolbypassrls)
     or pg_has_role(p_login, 'plait_client', 'member') or pg_has_role(p_login, 'plait_worker', 'member')
     or pg_has_role(p_login, 'plait_admin', 'member') or pg_has_role(p_login, 'plait_owner', 'member') then
    raise exception 'a bound login is a plain login with the role plait_tenant alone' using errcode = 'PL012';
  end if;
  insert into plait.logins (login, tenant_id) values (p_login, p_tenant)
  on conflict (login) do update set tenant_id = excluded.tenant_id;
exception when foreign_key_violation then
  raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
end $$;
