-- Roles belong to the server, not to one database: several installations share them, and several
-- processes may create them at the same time. Run by a superuser or a role with CREATEROLE. Not
-- needed if a DBA has created the roles.
--
--   plait_owner   owns the tables and functions, and runs migrations; cannot log in
--   plait_client  for a trusted application: enqueues, reads and cancels jobs of any tenant
--   plait_tenant  for a login that is bound to one tenant (plait.bind_login)
--   plait_worker  runs jobs and the leader's duties
--   plait_admin   manages queues, tenants and definitions, and reads across tenants

do $$
declare v_role text;
begin
  foreach v_role in array array[
    'plait_owner', 'plait_client', 'plait_tenant', 'plait_worker', 'plait_admin'] loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      -- another process created it first
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
  end loop;
end $$;
