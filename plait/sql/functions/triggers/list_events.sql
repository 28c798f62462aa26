-- list_events: events, newest first, in pages.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.events.list_events, users
--
--   p_event    only the event with this id
--   p_name     only events with this name
--   p_failed   only events whose dispatch failed
--
--   select id, name, data from plait.list_events(p_name => 'order.paid');
create or replace function plait.list_events(
  p_tenant uuid default null, p_all boolean default false, p_event uuid default null,
  p_name text default null, p_failed boolean default false, p_before uuid default null,
  p_limit int default 50
) returns setof plait.events
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select *
    from plait.events e
    where (v_tenant is null or e.tenant_id = v_tenant) and (p_event is null or e.id = p_event)
      and (p_name is null or e.name = p_name) and (not p_failed or e.error is not null)
      and e.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by e.id desc limit plait._page_size(p_limit);
end $$;
