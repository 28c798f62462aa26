-- now: the only clock that decides anything.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
-- The test kit replaces it with a clock that tests set.
create or replace function plait.now() returns timestamptz
language sql volatile parallel safe
return clock_timestamp();
