-- _scan_ranges: the index ranges that must be read for each tenant, given the scan bounds.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_lane, _first_queued, _queued_tenants
--
-- A range begins at (priority, starts_at) and ends before the priority of the next range. A tenant
-- without bounds has one range.
create or replace function plait._scan_ranges(p_bounds plait.scan_bounds, p_tenants uuid[])
returns table (n bigint, tenant_id uuid, priority int, starts_at timestamptz, upto_priority int)
language sql immutable as $$
  select x.n, x.tenant_id, x.priority, x.starts_at,
         coalesce(lead(x.priority) over (partition by x.n order by x.priority), 32768)
  from (
    select t.n, t.tenant_id, -32769 as priority, '-infinity'::timestamptz as starts_at
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    union all
    select t.n, t.tenant_id, m.priority, m.starts_at
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    join unnest((p_bounds).tenants, (p_bounds).priorities, (p_bounds).starts)
      m(tenant_id, priority, starts_at)
      on m.tenant_id = t.tenant_id) x $$;
