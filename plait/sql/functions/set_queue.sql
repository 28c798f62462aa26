-- set_queue: pause, resume or limit a queue; keys that are absent stay, null removes a limit.
--
--   moves    nothing
--   locks    the queue's advisory lock, exclusively: when this returns, every claim that began before it has ended
--   raises   PL012 for an invalid or unknown setting
--   called   plait.store.queues.set_queue
create or replace function plait.set_queue(p_name text, p_settings json) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r     plait.queues;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_name is null or p_name !~ '^[A-Za-z0-9_.:-]{1,100}$' then
    raise exception 'a queue''s name is 1 to 100 letters, digits and _ . : -' using errcode = 'PL012';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k where k not in ('paused', 'max_running', 'rate_count', 'rate_period_s');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('plait.queue ' || p_name, 0));
  select * into r from plait.queues where name = p_name;
  if not found then
    r.name := p_name;
    r.paused := false;
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := plait.now();
  insert into plait.queues select r.*
  on conflict (name) do update set paused = excluded.paused, max_running = excluded.max_running, rate_count = excluded.rate_count,
    rate_period_s = excluded.rate_period_s, updated_at = excluded.updated_at;
  if not r.paused then
    perform plait._wake(array[p_name], true);
  end if;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;
