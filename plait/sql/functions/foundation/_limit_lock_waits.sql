-- _limit_lock_waits: set lock_timeout to at most p_ms for the rest of the transaction.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_claims, enqueue_many, _insert_keys, _lock_tenant, _reserve_quota, set_queue
--
-- Returns the previous value. The caller must restore this value, unless the caller raises an
-- error, which rolls the setting back. A shorter timeout of the session stays in effect. The limit
-- is needed because a user's transaction may hold rows that an enqueue needs for any length of
-- time.
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
