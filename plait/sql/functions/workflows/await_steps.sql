-- await_steps: make a running job wait for the first of several times, signals or fan-outs.
--
--   moves    running -> waiting, with p_suspend, if no condition is met yet
--   locks    the live row, FOR UPDATE with p_suspend, otherwise FOR KEY SHARE; then its fan-outs in
--            id order, without p_suspend only its nurseries
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; PL001 for an unknown kind of wait
--   called   plait.store.workflows.await_steps
--
-- Waits whose conditions are already met are ended, in order. p_waits: an array of objects with
-- branch, name, occurrence, seq, kind, hash, delay_s or until, fan_out_id and, for a join, ended.
-- The first call for a step determines when it is due. p_abandoned: steps whose branch was
-- canceled. The job no longer waits for these steps, and signals that they consumed are unread
-- again. p_next: the number for the next wait that ends. If the job was canceled and has a grace
-- period, the cancellation is returned like an ended wait in the branch !, numbered after the
-- others.
-- o_status is suspended, ready (o_ended lists the ended waits), waiting (no wait has ended, and the
-- job keeps running), stale when the lease is lost, or canceled when the job was asked to stop.
-- o_next_s: the number of seconds until the first wait is due.
create or replace function plait.await_steps(
  p_worker int, p_job uuid, p_attempt int, p_next int, p_suspend boolean, p_waits json,
  p_abandoned json default null, out o_status text, out o_ended json, out o_next_s float8
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now  timestamptz := plait.now();
  v_due  timestamptz;
  v_fans uuid[];
  v_on   text[];
  l      plait.live;
  f      plait.fan_outs;
begin
  perform plait._require_read_committed();
  if p_suspend then
    l := plait._lock_attempt(p_worker, p_job, p_attempt);
  else
    select * into l
    from plait.live v
    where v.job_id = p_job and v.attempt = p_attempt and v.worker + 0 = p_worker for key share;
  end if;
  if l.job_id is null then
    o_status := plait._status_without_lease(p_worker, p_job, p_attempt);
    return;
  end if;
  if l.cancel_requested is not null then
    o_status := 'canceled';
    return;
  end if;
  if exists (select from json_to_recordset(p_waits) w(kind text)
             where w.kind is null
               or w.kind not in ('sleep', 'signal', 'timer', 'fan_out', 'join')) then
    raise exception 'the kind of a wait must be sleep, signal, timer, fan_out or join'
      using errcode = 'PL001';
  end if;

  if p_abandoned is not null then
    update plait.steps s set error = 'canceled'
    from json_to_recordset(p_abandoned) a(branch text, name text, occurrence int)
    where s.job_id = p_job and s.branch = a.branch and s.name = a.name
      and s.occurrence = a.occurrence and not s.done;
    perform plait._return_signals(p_job, p_abandoned);
    update plait.fan_outs o set waited_for = null
    from plait.steps s
    where s.job_id = p_job and not s.done and s.error = 'canceled' and o.id = s.fan_out_id
      and o.waited_for is not null and o.strategy <> 'nursery';
  end if;
  insert into plait.steps (
    job_id, tenant_id, fan_out_id, at, due_at, seq, occurrence, attempt, done, branch, name, kind,
    hash, value)
  select p_job, l.tenant_id, w.fan_out_id, v_now,
         coalesce(w.until, v_now + make_interval(secs => w.delay_s)), w.seq, w.occurrence,
         p_attempt, false, w.branch, w.name, w.kind, w.hash,
         case when w.ended is not null then json_build_object('ended', w.ended) end
  from json_to_recordset(p_waits)
       w(branch text, name text, occurrence int, seq int, kind text, hash text, delay_s float8,
         until timestamptz, fan_out_id uuid, ended int)
  on conflict (job_id, branch, name, occurrence) do update set error = null
  where not plait.steps.done and plait.steps.error = 'canceled';

  v_fans := array(select s.fan_out_id
                  from plait.steps s
                  where s.job_id = p_job and not s.done and s.error is null
                    and s.fan_out_id is not null
                  order by 1);
  if cardinality(v_fans) > 0 then
    for f in
      select *
      from plait.fan_outs o
      where o.id = any(v_fans) and (p_suspend or o.strategy = 'nursery')
      order by o.id for no key update
    loop
      if f.strategy = 'nursery' and f.decided_at is null
         and f.succeeded + f.failed + f.canceled = f.total then
        perform plait._record_decision(
          f, v_now, case when f.failed + f.canceled = 0 then 'succeeded' else 'failed' end);
      end if;
    end loop;
  end if;
  perform plait._end_waits(p_job, v_now, p_next, p_waits);
  if l.cancel_by is not null then   -- the handler receives the cancellation once, in order
    insert into plait.steps (
      job_id, tenant_id, at, seq, occurrence, attempt, branch, name, kind, finished)
    values (p_job, l.tenant_id, v_now, 0, 1, p_attempt, '!', 'cancel', 'cancel',
            p_next + json_array_length(p_waits))
    on conflict do nothing;
  end if;
  o_ended :=
    (select json_agg(
       json_build_array(
         s.branch, s.name, s.occurrence, s.finished,
         case when s.kind = 'fan_out' then
                json_build_object('decision', o.decision, 'decided_ended', o.decided_ended)
              else s.value end,
         s.error)
       order by s.finished)
     -- includes waits that an earlier call of this function ended
     from plait.steps s
     left join plait.fan_outs o on o.id = s.fan_out_id
     where s.job_id = p_job and s.finished between p_next and p_next + json_array_length(p_waits));
  if o_ended is not null then
    o_status := 'ready';
    return;
  end if;

  select min(s.due_at),
         array_agg(case when s.fan_out_id is not null then 'fan_out ' || s.fan_out_id
                        when s.kind = 'signal' then s.name
                        else 'sleep' end)
  into v_due, v_on
  from plait.steps s
  where s.job_id = p_job and not s.done and s.error is null;
  if not p_suspend or v_on is null then
    o_status := 'waiting';
    o_next_s := extract(epoch from v_due - v_now);
    return;
  end if;
  update plait.fan_outs o set
    waited_for = least(coalesce((s.value ->> 'ended')::int, o.total), o.total)
  from plait.steps s
  where s.job_id = p_job and not s.done and s.error is null and o.id = s.fan_out_id;
  perform plait._suspend(
    l, v_now, case when cardinality(v_on) = 1 then v_on[1] else 'several' end, v_due);
  o_status := 'suspended';
end $$;
