-- _try_limit: lock a limit to count its running jobs or starts; false: another claim holds it.
--
--   moves    nothing
--   locks    one of 1,024 rows of plait.locks, by the limit's name, SKIP LOCKED: never waits
--   raises   nothing
--   called   _capacity, _claim, _tenant_shares
--
-- There can be any number of limits (one for each key), and a row must exist before it can be
-- locked, so limits are hashed to a fixed set of rows. Two limits that share a row delay each other
-- only for the duration of a claim.
create or replace function plait._try_limit(p_name text) returns boolean
language plpgsql as $$
begin
  return plait._try_lock('limit ' || (hashtextextended(p_name, 0) & 1023));
end $$;
