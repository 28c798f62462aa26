-- rescue: requeue jobs of lost workers, enforce cancellations, resume parents that were skipped.
--
--   moves    running -> scheduled | queued | dead_letter | canceled; waiting -> queued, or as
--            _resume_or_end_parent
--   locks    live rows SKIP LOCKED, by worker and id; rows of ended workers, which only leave and
--            after_restore also write; workers FOR UPDATE SKIP LOCKED (against
--            concurrent claims); fan-outs SKIP LOCKED (_lock_affected_fan_outs). Never waits for a
--            row that a user's transaction can hold: that job is left for the next call
--   raises   nothing
--   called   plait.store.leader.rescue
--
-- Call it again immediately if workers were newly declared lost: their jobs are moved in a later
-- transaction. Moving them while holding the worker's row could wait for a settle that waits for
-- that row.
--
-- A job that ran when its worker was lost may have caused the loss, or may only have run beside the
-- job that did.
--   first loss    it is scheduled again within p_jitter_s, in its own lane, beside other jobs
--                 (losses = 1)
--   second loss   it becomes a suspect; all suspects of one lost worker form one group
--   later losses  the suspects that ran on the lost worker are split into two new groups. A worker
--                 runs suspects of one group at a time, so the poison job is among them, and it is
--                 alone after log2(n) losses. Members that ran elsewhere, or did not run, keep
--                 their group
--   alone         a loss counts only if the job was the only suspect on its worker; after
--                 p_max_losses of these losses it is a dead letter (worker_lost)
-- A loss does not count as an attempt used. A job whose attempt ends while its worker is alive is
-- no longer a suspect (_settle, _suspend). A group is a number derived from the lost worker's id,
-- so that batches and concurrent calls agree on it. The number of suspects on a worker is counted
-- when it is declared lost, because a later batch can't determine it.
--
-- A lost worker stays `lost`. While `clearing` is true, some of its jobs are not moved yet; the
-- same holds for a worker that left while rows of its jobs were locked. Its row counts how its jobs
-- were moved. Jobs that were moved otherwise, such as leader jobs that a new leader takes over, are
-- only in `held`.
--
-- o_workers lists the workers that this call has declared lost, with ids, hosts and process ids.
create or replace function plait.rescue(
  p_limit int default 1000, p_max_losses int default 3, p_cancel_grace_s float8 default 30,
  p_jitter_s float8 default 1, out o_lost int, out o_requeued int, out o_dead int,
  out o_canceled int, out o_resumed int, out o_workers text[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[] := '{}';
  l        plait.live;
  v_alone  boolean;
  v_buried boolean;
  v_wait   float8;
  v_half   int := 1;
  v_lost   record;
  v_ended  uuid[] := '{}';
  v_fans   uuid[] := '{}';
  v_finals plait.status[] := '{}';
  v_returned uuid[];
  f        plait.fan_outs;
  v_end    record;
  v_nodes  text[];
  v_node   text;
  v_from   int[] := '{}';
  v_moved  text[] := '{}';
begin
  perform plait._require_read_committed();
  o_lost := 0; o_requeued := 0; o_dead := 0; o_canceled := 0; o_resumed := 0;

  for v_lost in
    select v as job, w.suspects, w.build
    from plait.workers w
    join plait.live v on v.worker = w.id and v.state = 'running'
    where w.clearing
    order by w.id, v.job_id limit p_limit for update of v skip locked
  loop
    l := v_lost.job;
    v_alone := l.lane like 'suspect%' and v_lost.suspects = 1;
    v_buried := v_alone and l.losses >= p_max_losses;
    -- a fan-out is locked: the job is left for the next call
    continue when (v_buried or l.cancel_requested is not null)
      and cardinality(plait._lock_affected_fan_outs(array[l.job_id])) = 0;
    v_from := v_from || l.worker;
    v_moved := v_moved || case when l.cancel_requested is not null then 'canceled'
                               when v_buried then 'dead_lettered'
                               else 'requeued' end;
    if l.cancel_requested is not null then
      perform plait._make_final(
        p_live => l, p_now => v_now, p_status => 'canceled', p_final => 'canceled',
        p_reason => 'cancel_forced',
        p_error => coalesce(l.cancel_reason,
                            'its worker was lost after a cancellation was requested'));
      o_canceled := o_canceled + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id;
      v_finals := v_finals || 'canceled'::plait.status;
    elsif v_buried and l.tied and plait._has_open_children(l.job_id) then
      -- it becomes a dead letter when its children have ended
      perform plait._suspend(l, v_now, 'fan_out ' || l.job_id, null);
      update plait.attempts set
        status = 'lost', reason = 'worker_lost',
        error = format(
          'its worker was lost %s times while no other suspect ran on that worker', l.losses)
      where job_id = l.job_id and attempt = l.attempt;
      v_returned := v_returned || l.job_id;
      o_dead := o_dead + 1;
    elsif v_buried then
      perform plait._make_final(
        p_live => l, p_now => v_now, p_status => 'lost', p_final => 'dead_letter',
        p_reason => 'worker_lost',
        p_error => format('its worker was lost %s times while no other suspect ran on that worker',
                          l.losses));
      o_dead := o_dead + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id;
      v_finals := v_finals || 'dead_letter'::plait.status;
    else
      if v_lost.build is not null and l.lane not like 'suspect%'
         and exists (select from plait.steps s where s.job_id = l.job_id) then
        l.lane := plait._lane(l.definition, l.tenant_id, l.limit_key, l.lane, v_lost.build);
      end if;
      if l.lane like 'suspect%' then
        l.losses := greatest(1, l.losses) + v_alone::int;
        l.suspect_group := l.worker::bigint * 4 + v_half;
        v_half := 3 - v_half;
      elsif l.losses > 0 then
        l.lane := case when l.lane = 'leader' or l.lane like 'n:%' then 'suspect:' || l.lane
                       else coalesce('suspect:b:' || plait._build_of_lane(l.lane), 'suspect') end;
        l.suspect_group := l.worker::bigint * 4;
      else
        l.losses := 1;
      end if;
      v_wait := case when l.lane like 'suspect%' then 0 else random() * greatest(0, p_jitter_s) end;
      update plait.live set
        state = case when v_wait > 0 then 'scheduled' else 'queued' end::plait.status,
        worker = null, run_at = v_now + make_interval(secs => v_wait), lane = l.lane,
        losses = l.losses, suspect_group = l.suspect_group
      where job_id = l.job_id;
      insert into plait.attempts (
        job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason,
        error, progress)
      values (l.job_id, l.tenant_id, l.run_at, l.run_at, v_now, l.attempt, l.worker, 'lost',
              'worker_lost', 'its worker was lost while it ran',
              (select progress
               from plait.running_state r
               where r.job_id = l.job_id and r.attempt = l.attempt));
      delete from plait.running_state where job_id = l.job_id;
      o_requeued := o_requeued + 1;
      v_queues := v_queues || l.queue;
    end if;
  end loop;

  if cardinality(v_from) > 0 then
    update plait.workers w set
      requeued = w.requeued + m.requeued, dead_lettered = w.dead_lettered + m.dead_lettered,
      canceled = w.canceled + m.canceled
    from (select u.worker, count(*) filter (where u.moved = 'requeued') as requeued,
                 count(*) filter (where u.moved = 'dead_lettered') as dead_lettered,
                 count(*) filter (where u.moved = 'canceled') as canceled
          from unnest(v_from, v_moved) u(worker, moved)
          group by 1) m
    where w.id = m.worker;
  end if;
  update plait.workers w set clearing = false
  where w.clearing
    and not exists (select from plait.live v where v.worker = w.id and v.state = 'running');

  for l in
    select v.*
    from plait.live v
    where v.job_id in (select job_id
                       from plait.live
                       where cancel_requested < v_now - make_interval(secs => p_cancel_grace_s)
                       union all
                       select job_id from plait.live where cancel_by < v_now)
    order by v.job_id limit p_limit for update skip locked
  loop
    continue when cardinality(plait._lock_affected_fan_outs(array[l.job_id])) = 0;
    perform plait._make_final(
      p_live => l, p_now => v_now, p_status => 'canceled', p_final => 'canceled',
      p_reason => 'cancel_forced',
      p_error => coalesce(
        l.cancel_reason,
        case when l.cancel_by is null then 'its handler did not stop when asked'
             else 'its handler did not end within its grace period' end));
    o_canceled := o_canceled + 1;
    v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id;
    v_finals := v_finals || 'canceled'::plait.status;
  end loop;
  if cardinality(v_ended) > 0 or v_returned is not null then
    perform plait._fan_in(
      p_now => v_now, p_jobs => v_ended, p_fan_outs => v_fans, p_finals => v_finals,
      p_returned => v_returned,
      p_outcomes => array(select 'dead_letter'::plait.status from unnest(v_returned)));
    v_ended := '{}'; v_fans := '{}'; v_finals := '{}';
  end if;

  -- Parents that were skipped because their rows were locked: their fan-out is decided, or has the
  -- child that they wait for (in a streamed fan-out).
  for f in
    select *
    from plait.fan_outs
    where id in (
      select id from plait.fan_outs where waited_for is not null and decided_at is not null
      union all
      select id
      from plait.fan_outs
      where waited_for is not null and decided_at is null
        and succeeded + failed + canceled >= waited_for)
    order by depth desc, id limit p_limit for no key update skip locked
  loop
    -- Check again, now that the row is locked.
    continue when f.waited_for is null
      or f.decided_at is null and f.succeeded + f.failed + f.canceled < f.waited_for;
    continue when (f.strategy in ('nursery', 'after') or f.on_timeout is not null)
      and cardinality(plait._lock_affected_fan_outs(array[f.parent_id])) = 0;
    if f.decided_at is null then
      v_end := plait._apply_strategy(f, v_now);
    else
      v_end := plait._resume_or_end_parent(f, v_now);
      o_resumed := o_resumed + v_end.o_resumed::int;
    end if;
    if v_end.o_job is not null then
      v_ended := v_ended || v_end.o_job; v_fans := v_fans || v_end.o_fan_out;
      v_finals := v_finals || v_end.o_final;
    end if;
  end loop;
  if cardinality(v_ended) > 0 then
    perform plait._fan_in(v_now, v_ended, v_fans, v_finals);
  end if;
  for f in
    select *
    from plait.fan_outs
    where serial and turn is null and decided_at is null and succeeded + failed + canceled < total
    order by id limit p_limit for no key update skip locked
  loop
    perform plait._start_next_serial_child(f);
  end loop;
  perform plait._enqueue_late_follow_ups(p_limit);

  with e as materialized (
    select id
    from plait.workers
    where state = 'alive' and expires_at < v_now
    order by id for update skip locked
  ), w as (
    update plait.workers w set
      state = 'lost', clearing = true, asleep = false, running = 0, prefetched = 0,
      ended_at = v_now,
      end_reason = case when w.blocked_since is null then 'lease_expired' else 'blocked_loop' end,
      held = (select count(*) from plait.live v where v.worker = w.id and v.state = 'running'),
      last_jobs = array(select v.job_id
                        from plait.live v
                        where v.worker = w.id and v.state = 'running'
                        order by v.run_at desc, v.job_id limit 100),
      suspects = (select count(*)
                  from plait.live v
                  where v.worker = w.id and v.state = 'running' and v.lane like 'suspect%')
    from e
    where w.id = e.id and w.expires_at < v_now
    returning w.id, w.node, w.host, w.pid
  )
  select count(*), array_agg(distinct w.node order by w.node) filter (where w.node is not null),
         coalesce(array_agg(format('%s (%s:%s)', w.id, w.host, w.pid) order by w.id), '{}')
  into o_lost, v_nodes, o_workers
  from w;
  foreach v_node in array coalesce(v_nodes, '{}') loop
    perform plait._update_node(v_node, 'lost');
  end loop;
  perform plait._take_over_leader_jobs(v_now);

  if cardinality(v_queues) > 0 then
    perform plait._wake_workers(v_queues);
  end if;
end $$;
