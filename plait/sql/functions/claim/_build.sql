-- _build: the build that a lane is for; null: for any.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   explain_job, _lane, release_builds, rescue, _serves
create or replace function plait._build(p_lane text) returns text
language sql immutable
return substring(p_lane from '^(?:suspect:)?b:([^ ]+)');
