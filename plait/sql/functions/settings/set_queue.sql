-- set_queue: pause, resume or limit a queue, or make it serial or parallel.
--
--   moves    nothing
--   locks    the queue's row
--   raises   PL012 for an invalid or unknown setting, PL016 if another open transaction is changing
--            the queue
--   called   plait.store.queues.set_queue, users
--
--   p_name       1 to 100 letters, digits and _ . : -
--   p_settings   a JSON object: `paused`, `paused_by`, `pause_reason`, `serial`, `max_running`,
--                `rate_count` and `rate_period_s`
--
--   select plait.set_queue('mail', '{"max_running": 10, "rate_count": 100, "rate_period_s": 60}');
--
-- Absent settings do not change; null removes a limit. Resuming a queue clears paused_by and
-- pause_reason. Claims see the change once it is committed: a claim that began earlier may still
-- start jobs.
--
-- await_claims waits for claims that began before the change. A queue that becomes serial starts no
-- job until await_claims was called or 10 s have passed.
create or replace function plait.set_queue(p_name text, p_settings json) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r     plait.queues;
  v_was boolean;
  v_paused boolean;
  v_bad text;
  v_wait text;
begin
  perform plait._require_read_committed();
  if plait._is_queue_name(p_name) is not true then
    raise exception 'a queue name must have 1 to 100 letters, digits and _ . : -'
      using errcode = 'PL012';
  end if;
  select min(k) into v_bad
  from json_object_keys(p_settings) k
  where k not in ('paused', 'paused_by', 'pause_reason', 'max_running', 'rate_count',
                  'rate_period_s', 'serial');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  v_wait := plait._limit_lock_waits(5000);
  select * into r from plait.queues where name = p_name for no key update;
  if not found then
    r.name := p_name;
    r.paused := false;
    r.serial := false;
    r.settling := false;
  end if;
  v_was := r.serial;
  v_paused := r.paused;
  r := json_populate_record(r, p_settings);
  if r.serial and not v_was then
    -- After the current claims have ended, _begin_serial finds the workflows that have begun.
    r.settling := true;
  elsif not r.serial then
    r.roots := null;
    r.settling := false;
  end if;
  if not r.paused then
    r.paused_at := null;
    r.paused_by := null;
    r.pause_reason := null;
  elsif not v_paused then
    r.paused_at := plait.now();
  end if;
  r.updated_at := plait.now();
  insert into plait.queues
  select r.*
  on conflict (name) do update set
    paused = excluded.paused, max_running = excluded.max_running, rate_count = excluded.rate_count,
    rate_period_s = excluded.rate_period_s, updated_at = excluded.updated_at,
    serial = excluded.serial, roots = excluded.roots, settling = excluded.settling,
    paused_at = excluded.paused_at, paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason;
  perform set_config('lock_timeout', v_wait, true);
  if not r.paused then
    perform plait._wake_workers(array[p_name], true);
  end if;
exception when check_violation or not_null_violation or numeric_value_out_of_range
  or invalid_text_representation then
  raise exception 'invalid setting: %', sqlerrm using errcode = 'PL012';
when lock_not_available then
  raise exception 'another open transaction is changing queue %: commit or roll it back, then try again',
    p_name using errcode = 'PL016';
end $$;
