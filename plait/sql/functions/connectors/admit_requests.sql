-- admit_requests: ask the circuit breaker whether a request may be sent to a server now.
--
--   moves    nothing
--   locks    rows of circuits that are due for a trial request, in order, SKIP LOCKED
--   raises   nothing
--   called   plait.store.connectors.admit_request
--
-- Open: requests are rejected until open_until. Half-open: one trial request is admitted every 30
-- seconds. Only servers that failed recently have a row; without a row the circuit is closed. o:
-- the position of the server in the arrays.
create or replace function plait.admit_requests(p_tenants uuid[], p_origins text[])
returns table (o int, admitted boolean, wait_s float8, open_s float8)
language plpgsql security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  return query
    with asked as (
      select i.o::int as o, c.tenant_id, c.origin, c.opened_at, c.open_until
      from unnest(p_tenants, p_origins) with ordinality i(tenant_id, origin, o)
      join plait.circuits c on c.tenant_id = i.tenant_id and c.origin = i.origin
    ), due as (
      select c.tenant_id, c.origin
      from plait.circuits c
      where (c.tenant_id, c.origin) in (select a.tenant_id, a.origin from asked a)
        and c.open_until <= v_now
      order by 1, 2 for update skip locked
    ), tried as (
      update plait.circuits c set open_until = v_now + interval '30 s', updated_at = v_now
      from due d
      where c.tenant_id = d.tenant_id and c.origin = d.origin
      returning c.tenant_id, c.origin
    )
    select a.o,
           a.open_until is null
             or t.origin is not null and a.o = min(a.o) over (partition by a.tenant_id, a.origin),
           greatest(1, extract(epoch from a.open_until - v_now))::float8,
           extract(epoch from v_now - a.opened_at)::float8
    from asked a
    left join tried t on t.tenant_id = a.tenant_id and t.origin = a.origin;
end $$;
