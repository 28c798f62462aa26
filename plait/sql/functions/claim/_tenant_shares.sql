-- _tenant_shares: how many jobs each tenant of a window may get now.
--
--   moves    nothing
--   locks    the same as _try_limit, for each tenant with a limit (a locked limit counts as
--            exhausted), held until the transaction ends
--   raises   nothing
--   called   _claim_lane, _claim_serial, _claim_suspects
--
-- Called only if any tenant is paused, weighted or limited. Shares are whole numbers that add up to
-- the limit. A single random number decides which of them are rounded up, so that a tenant gets its
-- share over time even if that is less than one job per claim.
create or replace function plait._tenant_shares(p_tenants uuid[], p_limit int)
returns table (n bigint, share int, cap int) language plpgsql as $$
#variable_conflict use_column
declare
  v_free boolean[];
  v_lot  float8 := random();
begin
  select array_agg(t.max_running is null
                   or plait._try_limit('tenant ' || u.id) order by u.n)
  into v_free
  from unnest(p_tenants) with ordinality u(id, n)
  left join plait.tenants t on t.id = u.id;
  -- A separate statement: its snapshot is taken after the locks, so it sees the jobs that their
  -- previous holders claimed.
  return query
    with running as materialized (
      select l.tenant_id, count(*) as n
      from plait.live l
      where l.state = 'running' and l.tenant_id = any(p_tenants)
      group by 1
    ), s as (
      select u.n, t.weight,
             case when t.paused or not u.free then 0
                  when t.max_running is not null then
                    greatest(0, t.max_running - coalesce(r.n, 0)) end as cap
      from unnest(p_tenants, v_free) with ordinality u(id, free, n)
      join plait.tenants t on t.id = u.id
      left join running r on r.tenant_id = u.id
    ), c as (
      -- The cumulative share of the tenants up to this tenant.
      select s.n, s.cap,
             p_limit * (sum(s.weight) filter (where s.cap is distinct from 0) over (
                          order by s.n))::float8 / sum(s.weight) filter (
                            where s.cap is distinct from 0) over () as upto
      from s
    )
    select c.n,
           least(c.cap,
                 floor(coalesce(c.upto, 0) + v_lot)
                   - floor(coalesce(lag(c.upto) over (order by c.n), 0) + v_lot))::int,
           c.cap::int
    from c;
end $$;
