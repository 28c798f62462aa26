-- report_requests: report to the circuit breaker how servers answered.
--
--   moves    nothing
--   locks    rows of circuits, in order
--   raises   nothing
--   called   plait.store.connectors.report_request
--
-- Five failures in a row open a server's circuit for 30 s. Each further failure doubles this time,
-- up to ten minutes. Reports are not fenced: they describe the server, so a report from an outdated
-- attempt is valid too.
create or replace function plait.report_requests(p_tenants uuid[], p_origins text[], p_ok boolean[])
returns void language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_now timestamptz := plait.now();
begin
  delete from plait.circuits
  where (tenant_id, origin) in (
    select c.tenant_id, c.origin
    from plait.circuits c
    where (c.tenant_id, c.origin) in (
      select i.t, i.origin from unnest(p_tenants, p_origins, p_ok) i(t, origin, ok) where i.ok)
    order by 1, 2 for update);
  insert into plait.circuits as c (tenant_id, origin, failures, updated_at, opened_at, open_until)
  select i.t, i.origin, count(*), v_now, case when count(*) >= 5 then v_now end,
         case when count(*) >= 5 then v_now + interval '30 s' end
  from unnest(p_tenants, p_origins, p_ok) i(t, origin, ok)
  where not i.ok
  group by 1, 2
  order by 1, 2
  on conflict (tenant_id, origin) do update set
    failures = c.failures + excluded.failures, updated_at = v_now,
    opened_at = case when c.failures + excluded.failures >= 5 then coalesce(c.opened_at, v_now) end,
    open_until = case when c.failures + excluded.failures >= 5 then
                        v_now + make_interval(
                          secs => least(
                            30 * 2.0 ^ least(c.failures + excluded.failures - 5, 10), 600)) end;
  delete from plait.circuits
  where (tenant_id, origin) in (
    select c.tenant_id, c.origin
    from plait.circuits c
    where c.updated_at < v_now - interval '1 day'
    order by c.updated_at limit 100 for update skip locked);
end $$;
