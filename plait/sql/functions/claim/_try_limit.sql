-- _try_limit: the lock under which the running jobs or the starts of a limit are counted; false: another claim has it, or one that shares it.
--
--   moves    nothing
--   locks    one of 1,024 rows of plait.locks, by the limit's name, SKIP LOCKED: never waits
--   raises   nothing
--   called   _capacity, _claim, _tenant_shares
--
-- Limits may be any number (one for each key), and a row must be there before it can be locked. Two limits that share a row hinder
-- each other only for the length of a claim.
create or replace function plait._try_limit(p_name text) returns boolean
language plpgsql as $$
begin
  return plait._try_lock('limit ' || (hashtextextended(p_name, 0) & 1023));
end $$;
