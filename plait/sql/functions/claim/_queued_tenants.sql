-- _queued_tenants: tenants with queued jobs in a lane, in order, after p_after up to p_upto.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_lane, _claim_serial, _claim_suspects, _first_queued, _random_tenant
--
-- A skip scan of the index: each step finds the next tenant without reading the jobs of the
-- previous tenant. The main lane has its own index and its own statements. Tenants with scan bounds
-- are looked up by these bounds; other tenants are searched for only with p_unbounded.
create or replace function plait._queued_tenants(
  p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit int,
  p_bounds plait.scan_bounds default null, p_unbounded boolean default true
) returns uuid[]
language plpgsql as $$
begin
  if p_lane = '' and (p_bounds).tenants is null then
    return (
      with recursive t(tenant_id, n) as (
        (select l.tenant_id, 1
         from plait.live l
         where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id > p_after
           and l.tenant_id <= p_upto
         order by l.tenant_id limit least(1, p_limit))
        union all (select y.tenant_id, t.n + 1
                   from t
                   cross join lateral (
                     select l.tenant_id
                     from plait.live l
                     where l.queue = p_queue and l.lane = '' and l.state = 'queued'
                       and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
                     order by l.tenant_id limit 1) y
                   where t.n < p_limit)
      )
      select coalesce(array_agg(tenant_id order by n), '{}') from t);
  elsif p_lane = '' then
    return (
      with known as materialized (
        select distinct t as tenant_id
        from unnest((p_bounds).tenants) t
        where t > p_after and t <= p_upto
      ), gap as (
        select e as lower,
               lead(e, 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') over (order by e) as upper
        from (select p_after as e union all select k.tenant_id from known k) x
        where p_unbounded
      )
      select coalesce(array_agg(f.tenant_id), '{}')
      from (
        select s.tenant_id
        from plait._scan_ranges(p_bounds, array(select k.tenant_id from known k)) s
        cross join lateral (
          select from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued'
            and l.tenant_id = s.tenant_id and (l.priority, l.run_at) >= (s.priority, s.starts_at)
            and l.priority < s.upto_priority
          order by l.priority, l.run_at limit 1) l
        union
        select s.tenant_id from gap cross join lateral (
          select l.tenant_id from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued'
            and l.tenant_id > gap.lower and l.tenant_id < gap.upper and l.tenant_id <= p_upto
          order by l.tenant_id limit least(1, p_limit)) f cross join lateral (
          with recursive t(tenant_id, n) as (
            (select f.tenant_id, 1)
            union all
            (select y.tenant_id, t.n + 1 from t cross join lateral (
               select l.tenant_id from plait.live l
               where l.queue = p_queue and l.lane = '' and l.state = 'queued'
                 and l.tenant_id > t.tenant_id and l.tenant_id < gap.upper and l.tenant_id <= p_upto
               order by l.tenant_id limit 1) y
             where t.n < p_limit))
          select t.tenant_id from t) s
        order by 1 limit p_limit) f);
  end if;
  return (
    with recursive t(tenant_id, n) as (
      (select l.tenant_id, 1
       from plait.live l
       where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued'
         and l.tenant_id > p_after and l.tenant_id <= p_upto
       order by l.tenant_id limit least(1, p_limit))
      union all (select y.tenant_id, t.n + 1
                 from t
                 cross join lateral (
                   select l.tenant_id
                   from plait.live l
                   where l.queue = p_queue and l.lane = p_lane and l.lane <> ''
                     and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
                   order by l.tenant_id limit 1) y
                 where t.n < p_limit)
    )
    select coalesce(array_agg(tenant_id order by n), '{}') from t);
end $$;
