-- _serves_lane: whether a worker may claim jobs of a lane.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_serial, _claim_side_lanes
--
-- A node's lane is for workers of that node, a build's lane for workers of that build, and the
-- leader's lane for workers of the leader's process.
create or replace function plait._serves_lane(p_worker int, p_lane text) returns boolean
language plpgsql volatile as $$
declare v_lane text := case when p_lane like 'suspect:%' then substr(p_lane, 9) else p_lane end;
begin
  if v_lane like 'n:%' then
    return exists (select from plait.workers w
                   where w.id = p_worker and w.node = substr(v_lane, 3));
  elsif v_lane like 'b:%' then
    return exists (select from plait.workers w
                   where w.id = p_worker and w.build = plait._build_of_lane(v_lane));
  elsif v_lane = 'leader' then
    return exists (select from plait.workers w join plait.leader l on l.holder = w.holder
                   where w.id = p_worker and l.name = 'main' and l.expires_at > plait.now());
  end if;
  return true;
end $$;
