-- _between: what the marks leave to be read of the jobs of these tenants: for each, stretches from (priority, mark) up to, and
-- without, another priority. A tenant without marks is one stretch.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _heads, _take, _tenants
create or replace function plait._between(p_marks plait.marks, p_tenants uuid[])
returns table (n bigint, tenant_id uuid, priority int, mark timestamptz, upto_priority int)
language sql immutable as $$
  select x.n, x.tenant_id, x.priority, x.mark, coalesce(lead(x.priority) over (partition by x.n order by x.priority), 32768)
  from (
    select t.n, t.tenant_id, -32769 as priority, '-infinity'::timestamptz as mark
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    union all
    select t.n, t.tenant_id, m.priority, m.mark
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    join unnest((p_marks).tenants, (p_marks).priorities, (p_marks).marks) m(tenant_id, priority, mark) on m.tenant_id = t.tenant_id) x
$$;
