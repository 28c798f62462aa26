-- _first_queued: tenant and priority of the first queued job of each index range of the main lane.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim
--
-- Called if a claim was slow for few jobs: there may be many dead index entries, or jobs of
-- definitions that this worker does not have.
create or replace function plait._first_queued(
  p_queue text, p_bounds plait.scan_bounds, out o_tenants uuid[], out o_priorities smallint[]
)
language plpgsql as $$
begin
  select array_agg(h.tenant_id), array_agg(h.priority) into o_tenants, o_priorities
  from plait._scan_ranges(p_bounds, plait._queued_tenants(
    p_queue => p_queue, p_lane => '', p_after => '00000000-0000-0000-0000-000000000000',
    p_upto => 'ffffffff-ffff-ffff-ffff-ffffffffffff', p_limit => 128, p_bounds => p_bounds)) s
  cross join lateral (
    select l.tenant_id, l.priority from plait.live l
    where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = s.tenant_id
      and (l.priority, l.run_at) >= (s.priority, s.starts_at) and l.priority < s.upto_priority
    order by l.priority, l.run_at limit 1) h;
end $$;
