-- _build_of_lane: the build that a lane is for; null: any build.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   explain_job, _lane, release_builds, rescue, _serves_lane
create or replace function plait._build_of_lane(p_lane text) returns text
language sql immutable
return substring(p_lane from '^(?:suspect:)?b:([^ ]+)');
