-- set_queue: pause, resume or limit a queue, or make it serial or parallel; keys that are absent stay, null removes a limit.
--
--   moves    nothing
--   locks    the queue's advisory lock, exclusively: when this returns, every claim that began before it has ended
--   raises   PL012 for an invalid or unknown setting
--   called   plait.store.queues.set_queue
create or replace function plait.set_queue(p_name text, p_settings json) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r     plait.queues;
  v_was boolean;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_name is null or p_name !~ '^[A-Za-z0-9_.:-]{1,100}$' then
    raise exception 'a queue''s name is 1 to 100 letters, digits and _ . : -' using errcode = 'PL012';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k where k not in ('paused', 'max_running', 'rate_count', 'rate_period_s', 'serial');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('plait.queue ' || p_name, 0));
  select * into r from plait.queues where name = p_name;
  if not found then
    r.name := p_name;
    r.paused := false;
    r.serial := false;
  end if;
  v_was := r.serial;
  r := json_populate_record(r, p_settings);
  if r.serial and not v_was then
    -- What has begun goes on, one tree after the other; the next root starts when the last of them is final.
    r.roots := array(select coalesce(l.root_id, l.job_id) from plait.live l where l.queue = p_name
                       and (l.state = 'running' or l.root_id is not null or l.attempt > 0 and plait._has_started(l.job_id))
                     group by 1 order by min(l.run_at), 1);
  elsif not r.serial then
    r.roots := null;
  end if;
  r.updated_at := plait.now();
  insert into plait.queues select r.*
  on conflict (name) do update set paused = excluded.paused, max_running = excluded.max_running, rate_count = excluded.rate_count,
    rate_period_s = excluded.rate_period_s, updated_at = excluded.updated_at, serial = excluded.serial, roots = excluded.roots;
  if not r.paused then
    perform plait._wake(array[p_name], true);
  end if;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;
