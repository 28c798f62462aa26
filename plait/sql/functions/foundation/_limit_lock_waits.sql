-- _limit_lock_waits: from here on, wait at most p_ms for a lock, or less where the session says so. Returns the setting to go back to.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_claims, enqueue_many, _insert_keys, _lock_tenant, _reserve_quota, set_queue
--
-- Users' transactions may hold what an enqueue needs for any length of time. Who fails need not go back: the setting goes with the
-- (sub)transaction.
create or replace function plait._limit_lock_waits(p_ms int) returns text
language plpgsql as $$
declare
  v_was text := current_setting('lock_timeout');
  v_ms  float8 := extract(epoch from v_was::interval) * 1000;
begin
  if v_ms = 0 or v_ms > p_ms then
    perform set_config('lock_timeout', greatest(1, p_ms)::text, true);
  end if;
  return v_was;
end $$;
