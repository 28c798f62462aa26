-- suspend: a running job waits for a time, a signal or a fan-out; or learns that it need not.
--
--   moves    running -> waiting
--   locks    the live row; then the fan-out
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            sends it again; PL001 for a kind that can't be waited for, PL008 for a fan-out that is
--            not there
--   called   nothing
--
-- o_status is suspended, ready (with the signal's payload, or the state of the fan-out), timeout,
-- stale when the lease is lost, or canceled when the job was asked to stop. The step's first call
-- fixes when it is due: a job that is woken early waits only for the rest.
create or replace function plait.suspend(
  p_worker int, p_job uuid, p_attempt int, p_name text, p_occurrence int, p_seq int, p_overlapping boolean, p_hash text, p_kind text,
  p_delay_s float8 default null, p_until timestamptz default null, p_signal text default null,
  p_fan_out uuid default null, p_ended int default null, out o_status text, out o_value text
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now timestamptz := plait.now();
  l     plait.live;
  s     plait.steps;
  f     plait.fan_outs;
  v_id  uuid;
begin
  perform plait._require_read_committed();
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  if l.job_id is null then
    o_status := plait._status_without_lease(p_worker, p_job, p_attempt);
    return;
  end if;
  if l.cancel_requested is not null then
    o_status := 'canceled';
    return;
  end if;

  if p_kind in ('fan_out', 'stream', 'nursery') then
    select * into f from plait.fan_outs where id = p_fan_out for no key update;
    if not found then
      raise exception 'job % has no fan-out %', p_job, p_fan_out using errcode = 'PL008';
    end if;
    if f.strategy = 'nursery' and f.decided_at is null and f.succeeded + f.failed + f.canceled = f.total then
      perform plait._record_decision(f, v_now, case when f.failed + f.canceled = 0 then 'succeeded' else 'failed' end);
      select * into f from plait.fan_outs where id = p_fan_out;
    end if;
    if f.decided_at is not null or f.succeeded + f.failed + f.canceled >= p_ended then
      o_status := 'ready';
      o_value := json_build_object('decision', f.decision, 'decided_ended', f.decided_ended);
      return;
    end if;
    update plait.fan_outs set waited_for = least(coalesce(p_ended, total), total) where id = p_fan_out;
    perform plait._suspend(l, v_now, 'fan_out ' || p_fan_out, null);
    o_status := 'suspended';
    return;
  end if;
  if p_kind is null or p_kind not in ('sleep', 'signal') then
    raise exception 'a job waits for sleep, signal, fan_out, stream or nursery, not %', coalesce(quote_literal(p_kind), 'null') using errcode = 'PL001';
  end if;

  insert into plait.steps (job_id, tenant_id, at, due_at, seq, occurrence, attempt, overlapping, done, name, kind, hash)
  values (p_job, l.tenant_id, v_now, coalesce(p_until, v_now + make_interval(secs => p_delay_s)), p_seq, p_occurrence, p_attempt,
          p_overlapping, p_kind = 'sleep', p_name, p_kind, p_hash)
  on conflict do nothing;
  select * into s from plait.steps where job_id = p_job and name = p_name and occurrence = p_occurrence;
  if p_kind = 'signal' and not s.done then
    select g.id, g.payload::text into v_id, o_value from plait.signals g
      where g.job_id = p_job and g.name = p_signal and not g.consumed order by g.sent_at, g.id limit 1;
    if found then
      update plait.signals set consumed = true where job_id = p_job and id = v_id;
      update plait.steps set done = true, value = o_value::json where job_id = p_job and name = p_name and occurrence = p_occurrence;
      o_status := 'ready';
      return;
    end if;
    if s.due_at <= v_now then
      update plait.steps set done = true, error = 'timeout' where job_id = p_job and name = p_name and occurrence = p_occurrence;
      o_status := 'timeout';
      return;
    end if;
  elsif s.due_at <= v_now or p_kind = 'signal' then
    o_status := case when s.error is not null then 'timeout' else 'ready' end;
    o_value := s.value::text;
    return;
  end if;
  perform plait._suspend(l, v_now, case p_kind when 'signal' then 'signal ' || p_signal else 'sleep' end, s.due_at);
  o_status := 'suspended';
end $$;
