-- _first_queued: where the queued jobs of the main lane of a queue begin: for each stretch that the marks leave, the tenant and priority of its first.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim
create or replace function plait._first_queued(p_queue text, p_bounds plait.scan_bounds, out o_tenants uuid[], out o_priorities smallint[])
language plpgsql as $$
begin
  select array_agg(h.tenant_id), array_agg(h.priority) into o_tenants, o_priorities
  from plait._scan_ranges(p_bounds, plait._queued_tenants(p_queue, '', '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 128, p_bounds)) s
  cross join lateral (
    select l.tenant_id, l.priority from plait.live l
    where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = s.tenant_id
      and (l.priority, l.run_at) >= (s.priority, s.starts_at) and l.priority < s.upto_priority
    order by l.priority, l.run_at limit 1) h;
end $$;
