-- _tenants: up to p_limit tenants that have queued jobs in a lane of a queue, in order, those after p_after and not after p_upto.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _take, _take_lanes
--
-- A skip over the index: each step finds the next tenant without reading the jobs of the last one. The main lane has an index
-- of its own, and a statement of its own to use it.
create or replace function plait._tenants(p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit int) returns uuid[]
language plpgsql as $$
begin
  if p_lane = '' then
    return (
      with recursive t(tenant_id, n) as (
        (select l.tenant_id, 1 from plait.live l
         where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id > p_after and l.tenant_id <= p_upto
         order by l.tenant_id limit least(1, p_limit))
        union all
        (select y.tenant_id, t.n + 1 from t cross join lateral (
           select l.tenant_id from plait.live l
           where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
           order by l.tenant_id limit 1) y
         where t.n < p_limit))
      select coalesce(array_agg(tenant_id order by n), '{}') from t);
  end if;
  return (
    with recursive t(tenant_id, n) as (
      (select l.tenant_id, 1 from plait.live l
       where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.tenant_id > p_after and l.tenant_id <= p_upto
       order by l.tenant_id limit least(1, p_limit))
      union all
      (select y.tenant_id, t.n + 1 from t cross join lateral (
         select l.tenant_id from plait.live l
         where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
         order by l.tenant_id limit 1) y
       where t.n < p_limit))
    select coalesce(array_agg(tenant_id order by n), '{}') from t);
end $$;
