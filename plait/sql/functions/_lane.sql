-- _lane: the lane of a job that is not a suspect. A limited job waits apart, so that the claim can skip a full limit whole; so does one
-- that only a node, or the leader, may run.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by enqueue, settle and retry
--
-- p_lane is where it was: a node's stays a node's.
create or replace function plait._lane(p_definition text, p_tenant uuid, p_limit_key text, p_lane text default '') returns text
language sql stable
return case
  when p_lane like 'n:%' then p_lane
  when p_lane like 'suspect:n:%' then substr(p_lane, 9)
  else coalesce(
    (select case when d.kind = 'node' then 'leader'
                 when p_limit_key is null and (d.max_running is not null or d.rate_count is not null) then 'd:' || p_definition end
     from plait.definitions d where d.name = p_definition),
    'k:' || p_definition || ':' || p_tenant || ':' || p_limit_key, '') end;
