-- _lane: the lane of a job that is not a suspect.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _announce, continue_as_new, release_builds, rescue, _retry, _settle, _suspend
--
-- A limited job waits in its limit's lane, so that a claim can skip all jobs of an exhausted limit
-- together. A job that only a node, the leader, or workers of one build may run also has a separate
-- lane. p_lane: the previous lane; a job in the lane of a node or a build stays there. p_build: the
-- build of the worker that started the job; null: the build in p_lane.
create or replace function plait._lane(
  p_definition text, p_tenant uuid, p_limit_key text, p_lane text default '',
  p_build text default null
) returns text
language sql stable
return case
  when p_lane like 'n:%' then p_lane
  when p_lane like 'suspect:n:%' then substr(p_lane, 9)
  else coalesce(
    (select case when d.kind = 'node' then 'leader'
                 when p_limit_key is null
                      and (d.max_running is not null or d.rate_count is not null) then
                   coalesce('b:' || coalesce(p_build, plait._build_of_lane(p_lane)) || ' ', '')
                   || 'd:' || p_definition end
     from plait.definitions d
     where d.name = p_definition),
    coalesce('b:' || coalesce(p_build, plait._build_of_lane(p_lane)) || ' ', '') || 'k:'
      || p_definition || ':' || p_tenant || ':' || p_limit_key,
    'b:' || coalesce(p_build, plait._build_of_lane(p_lane)), '') end;
