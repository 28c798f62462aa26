-- _random_tenant: a random tenant with queued jobs in a lane, after p_cursor.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_side_lanes, _claim_suspects
create or replace function plait._random_tenant(p_queue text, p_lane text, p_cursor uuid)
returns uuid language plpgsql as $$
declare
  v_tenants uuid[] := plait._queued_tenants(
    p_queue, p_lane, p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 128);
begin
  v_tenants := v_tenants
    || plait._queued_tenants(
      p_queue, p_lane, '00000000-0000-0000-0000-000000000000', p_cursor,
      128 - cardinality(v_tenants));
  return v_tenants[1 + floor(random() * cardinality(v_tenants))::int];
end $$;
