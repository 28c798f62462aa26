-- _try_lock: acquire one of plait's own locks for this transaction; false if it is taken.
--
--   moves    nothing
--   locks    a row of plait.locks, SKIP LOCKED: never waits
--   raises   nothing
--   called   announce, count_failures, count_live, roll_up, _try_limit, _wake_workers
--
-- Not an advisory lock, because any login of the database could take and hold one.
create or replace function plait._try_lock(p_name text) returns boolean
language plpgsql as $$
begin
  perform from plait.locks where name = p_name for update skip locked;
  return found;
end $$;
