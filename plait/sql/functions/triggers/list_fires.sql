-- list_fires: firings of a trigger or an event, newest first.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.triggers.list_fires, users
--
--   p_trigger   only firings of this trigger
--   p_event     only firings for this event
--
--   select label, at, outcome, job_id from plait.list_fires(p_trigger => :'trigger');
create or replace function plait.list_fires(
  p_trigger uuid default null, p_event uuid default null, p_tenant uuid default null,
  p_all boolean default false, p_limit int default 50
) returns table (
  id uuid, tenant_id uuid, trigger_id uuid, label text, definition text, at timestamptz,
  instant timestamptz, event_id uuid, outcome text, job_id uuid, error text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select f.id, f.tenant_id, f.trigger_id, t.label::text, t.definition::text, f.at, f.instant,
           f.event_id, f.outcome, f.job_id, f.error
    from plait.fires f
    join plait.triggers t on t.id = f.trigger_id
    where (v_tenant is null or f.tenant_id = v_tenant)
      and (p_trigger is null or f.trigger_id = p_trigger)
      and (p_event is null or f.event_id = p_event)
    order by f.at desc, f.id desc limit plait._page_size(p_limit);
end $$;
