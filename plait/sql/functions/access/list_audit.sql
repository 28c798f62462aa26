-- list_audit: the audit log, newest first.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.audit.list_audit, users
--
--   p_actor    only entries of this actor
--   p_action   only entries with this action
--   p_object   only entries about this object
--
--   select at, actor, action, object from plait.list_audit(p_all => true);
create or replace function plait.list_audit(
  p_tenant uuid default null, p_all boolean default false, p_actor text default null,
  p_action text default null, p_object text default null, p_before uuid default null,
  p_limit int default 50
) returns table (id uuid, tenant_id uuid, at timestamptz, actor text, action text, object text,
                 request_id text, detail text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select a.id, a.tenant_id, a.at, a.actor, a.action::text, a.object, a.request_id, a.detail::text
    from plait.audit a
    where (v_tenant is null or a.tenant_id = v_tenant)
      and a.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_actor is null or a.actor = p_actor) and (p_action is null or a.action = p_action)
      and (p_object is null or a.object = p_object)
    order by a.id desc limit plait._page_size(p_limit);
end $$;
