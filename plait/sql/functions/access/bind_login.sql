-- bind_login: bind a login of role plait_tenant to a tenant; null unbinds it.
--
--   moves    nothing
--   locks    the login's row
--   raises   PL012 if the login does not exist, or could act for more than one tenant; PL003 if
--            there is no such tenant
--   called   plait.store.tenants.bind_login, users
--
--   p_login    name of the database login
--   p_tenant   id of the tenant; null unbinds the login
--
--   select plait.bind_login(:'login', plait.tenant_id('default'));
--
-- The role plait_tenant may be granted before or after this call. A login that is not bound sees no
-- rows.
create or replace function plait.bind_login(p_login name, p_tenant uuid) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r     pg_roles;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_tenant is null then
    delete from plait.logins where login = p_login;
    return;
  end if;
  select * into r from pg_roles where rolname = p_login;
  if not found or not r.rolcanlogin then
    raise exception 'there is no login %', coalesce(quote_literal(p_login), 'null')
      using errcode = 'PL012';
  end if;
  select case when o.rolname = p_login then
                'it is a superuser, or may bypass row-level security, create roles or replicate'
              else 'it may act as ' || o.rolname end
  into v_bad
  from pg_roles o
  where pg_has_role(r.oid, o.oid, 'member')
    and (o.rolsuper or o.rolbypassrls or o.rolcreaterole or o.rolreplication
         or o.rolname in ('plait_owner', 'plait_client', 'plait_worker', 'plait_admin'))
  order by o.rolname <> p_login, o.rolname limit 1;
  if v_bad is not null then
    raise exception 'login % cannot be bound to a tenant: %. Grant it only the role plait_tenant',
      quote_literal(p_login), v_bad
      using errcode = 'PL012';
  end if;
  insert into plait.logins (login, tenant_id) values (p_login, p_tenant)
  on conflict (login) do update set tenant_id = excluded.tenant_id;
exception when foreign_key_violation then
  raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
end $$;
