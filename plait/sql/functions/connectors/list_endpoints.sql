-- list_endpoints: a tenant's webhook endpoints, by label.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.endpoints.list_endpoints, users
--
--   p_endpoint   only the endpoint with this id
--   p_label      only the endpoint with this label
--
--   select label, url, enabled from plait.list_endpoints();
create or replace function plait.list_endpoints(
  p_tenant uuid default null, p_all boolean default false, p_endpoint uuid default null,
  p_label text default null
) returns table (
  now timestamptz, id uuid, tenant_id uuid, tenant text, label text, url text, enabled boolean,
  signature text, statuses text[], definitions text[], key_version int, old_key_until timestamptz,
  subscribed_at timestamptz, disabled_at timestamptz, disabled_reason text, created_by text,
  created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select plait.now(), e.id, e.tenant_id, n.slug::text, e.label::text, e.url, e.enabled,
           e.signature, e.statuses::text[], e.definitions, e.key_version, e.old_key_until,
           e.subscribed_at, e.disabled_at, e.disabled_reason, e.created_by, e.created_at,
           e.updated_at
    from plait.endpoints e
    join plait.tenants n on n.id = e.tenant_id
    where (v_tenant is null or e.tenant_id = v_tenant) and (p_endpoint is null or e.id = p_endpoint)
      and (p_label is null or e.label = p_label)
    order by n.slug, e.label;
end $$;
