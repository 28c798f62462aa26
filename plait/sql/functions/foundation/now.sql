-- now: the current time, from the only clock that plait's decisions use.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
--   select plait.now();
--
-- In tests, plait.testing replaces this function with a clock that the test sets.
create or replace function plait.now() returns timestamptz
language sql volatile parallel safe
return clock_timestamp();
