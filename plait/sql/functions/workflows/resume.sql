-- resume: end waits that are due: sleeps, timeouts of signals and fan-outs, deadlines.
--
--   moves    waiting -> queued; waiting -> any final status, for a node job whose nodes have timed
--            out; scheduled | queued | waiting -> failed, for a job past its deadline. A running
--            job is ended by its worker, which knows the deadline
--   locks    live rows, fan-outs, deadlines and event_waits, SKIP LOCKED: safe to run in several
--            processes at once. Never waits
--   raises   nothing
--   called   plait.store.leader.resume
--
-- Also queues jobs whose row was locked when an event was sent to them (_signal_event_waits).
-- o_next_s: seconds until the next wait is due, not counting waits that are due but locked.
create or replace function plait.resume(
  p_limit int default 1000, out o_resumed int, out o_timed_out int, out o_next_s float8
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[];
  f        plait.fan_outs;
  e        record;
  k        plait.deadlines;
  w        plait.event_waits;
  v_live   plait.live;
  v_error  json;
  v_ended  uuid[];
  v_fans   uuid[];
  v_finals plait.status[];
begin
  perform plait._require_read_committed();
  o_timed_out := 0;
  for k in
    select *
    from plait.deadlines
    where due_at <= v_now
    order by due_at limit p_limit for update skip locked
  loop
    select * into v_live from plait.live where job_id = k.job_id for update skip locked;
    if not found then
      update plait.deadlines set due_at = null
      where job_id = k.job_id and not exists (select from plait.live v where v.job_id = k.job_id);
      continue;
    end if;
    continue when v_live.state = 'running'
      or cardinality(plait._lock_affected_fan_outs(array[v_live.job_id])) = 0;
    v_error := plait._deadline_error(k.deadline_s, true);
    perform plait._make_final(
      p_live => v_live, p_now => v_now, p_status => 'timeout', p_final => 'failed',
      p_reason => 'deadline', p_error => v_error ->> 'error', p_failure => v_error -> 'failure');
    update plait.deadlines set due_at = null where job_id = k.job_id;
    v_ended := v_ended || v_live.job_id; v_fans := v_fans || v_live.fan_out_id;
    v_finals := v_finals || 'failed'::plait.status;
    o_timed_out := o_timed_out + 1;
  end loop;
  with due as materialized (
    select l.job_id
    from plait.live l
    where l.wake_at <= v_now
    order by l.wake_at limit p_limit for update skip locked
  ), u as (
    update plait.live l set
      state = 'queued', run_at = plait._now_after_xid(), wait_on = null, wake_at = null
    from due
    where l.job_id = due.job_id
    returning l.queue
  )
  select count(*), array_agg(distinct queue) into o_resumed, v_queues from u;
  if o_resumed > 0 then
    perform plait._wake_workers(v_queues);
  end if;
  for w in
    select h.* from plait.event_waits h join plait.live l on l.job_id = h.job_id
    where h.told order by h.job_id, h.signal limit p_limit for update of h, l skip locked
  loop
    select * into v_live from plait.live where job_id = w.job_id;
    if plait._waits_for_signal(v_live, w.signal) then
      perform plait._resume_job(v_live);
      o_resumed := o_resumed + 1;
    end if;
    delete from plait.event_waits h where h.job_id = w.job_id and h.signal = w.signal;
  end loop;
  for f in
    select * from plait.fan_outs where timeout_at <= v_now and decided_at is null
    order by depth desc, timeout_at limit p_limit for update skip locked
  loop
    -- The timeout may end a node job, which is then counted in the fan-out that it belongs to.
    continue when f.on_timeout is not null
      and cardinality(plait._lock_affected_fan_outs(array[f.parent_id])) = 0;
    e := plait._record_decision(
      f, v_now,
      case when f.on_timeout = 'proceed' or f.on_timeout = 'fail' and f.succeeded >= f.needed then
             'succeeded'
           else 'timeout' end);
    o_timed_out := o_timed_out + 1;
    if e.o_job is not null then
      v_ended := v_ended || e.o_job; v_fans := v_fans || e.o_fan_out;
      v_finals := v_finals || e.o_final;
    end if;
  end loop;
  if v_ended is not null then
    perform plait._fan_in(v_now, v_ended, v_fans, v_finals);
  end if;
  select greatest(0, extract(epoch from least(
      (select min(wake_at) from plait.live where wake_at > v_now),
      (select min(timeout_at) from plait.fan_outs where timeout_at > v_now and decided_at is null),
      (select min(due_at) from plait.deadlines where due_at > v_now)) - v_now))
    into o_next_s;
end $$;
