-- await_claims: wait until earlier claims of a queue have ended; false after p_wait_ms.
--
--   moves    nothing
--   locks    the rows of the queue's workers, one at a time and briefly: a claim holds its worker's
--            row FOR KEY SHARE
--   raises   nothing
--   called   plait.store.queues.set_queue
--
-- Call this function after the change to the queue is committed. Once it returns true, no job of a
-- paused queue starts, and a queue that became serial may start its first workflow.
create or replace function plait.await_claims(p_queue text, p_wait_ms int default 5000)
returns boolean language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  -- clock: limits a wait
  v_until  timestamptz := clock_timestamp() + make_interval(secs => p_wait_ms / 1000.0);
  v_worker int;
  v_all    boolean := true;
begin
  for v_worker in
    select w.id
    from plait.workers w
    where w.state = 'alive' and p_queue = any(w.queues)
    order by w.id
  loop
    begin
      -- clock: as above
      perform plait._limit_lock_waits(
        greatest(1, extract(epoch from v_until - clock_timestamp()) * 1000)::int);
      perform from plait.workers w where w.id = v_worker for update;
      -- roll back immediately: the worker's cycles and heartbeats need the row
      raise exception sqlstate 'PLUND';
    exception
      when sqlstate 'PLUND' then null;
      when lock_not_available then v_all := false;
    end;
  end loop;
  if v_all then
    perform plait._begin_serial(p_queue);
  end if;
  return v_all;
end $$;
