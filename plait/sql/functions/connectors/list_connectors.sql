-- list_connectors: a tenant's settings for each type of connector.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.connectors.list_connectors, users
--
--   select type, settings from plait.list_connectors();
create or replace function plait.list_connectors(
  p_tenant uuid default null, p_all boolean default false
) returns table (
  tenant_id uuid, tenant text, type text, settings json, updated_at timestamptz, updated_by text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select c.tenant_id, n.slug::text, c.type, c.settings, c.updated_at, c.updated_by
    from plait.connectors c
    join plait.tenants n on n.id = c.tenant_id
    where v_tenant is null or c.tenant_id = v_tenant
    order by n.slug, c.type;
end $$;
