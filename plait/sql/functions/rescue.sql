-- rescue: take back what lost workers ran, end what was asked to stop and did not, resume whose wake-up was missed.
--
--   moves    running -> queued | dead_letter | canceled; waiting -> queued, or as _resume_parent
--   locks    live rows SKIP LOCKED, by worker and id; workers FOR UPDATE SKIP LOCKED (against claims under way); fan-outs,
--            deepest first. Never waits but for those
--   raises   nothing
--   called   plait.store.leader.rescue, which calls again while workers were newly declared lost
--
-- A worker is declared lost in one transaction, and its jobs are moved in a later one: moving them under the lock on the
-- worker's row could wait for a settle that waits for that row.
-- A job that ran when its worker was lost comes back as a suspect: it may have been what killed the worker, or stood beside
-- it. A suspect runs with no other suspect beside it, and only losses as a suspect count, toward tries and toward worker_lost.
create or replace function plait.rescue(
  p_limit int default 1000, p_max_losses int default 3, p_cancel_grace_s float8 default 30,
  out o_lost int, out o_requeued int, out o_dead int, out o_canceled int, out o_resumed int
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[] := '{}';
  l        plait.live;
  v_counts boolean;
  v_ended  uuid[] := '{}';
  v_fans   uuid[] := '{}';
  v_finals plait.status[] := '{}';
  v_depth  int;
  v_returned uuid[];
  f        plait.fan_outs;
  v_end    record;
  v_nodes  text[];
  v_node   text;
begin
  perform plait._require_read_committed();
  o_lost := 0; o_requeued := 0; o_dead := 0; o_canceled := 0; o_resumed := 0;

  for l in
    select v.* from plait.workers w join plait.live v on v.worker = w.id and v.state = 'running'
    where w.state = 'lost' order by v.job_id limit p_limit for update of v skip locked
  loop
    v_counts := l.lane like 'suspect%';
    if l.cancel_requested is not null then
      perform plait._end(l, v_now, 'canceled', 'canceled', 'cancel_forced', coalesce(l.cancel_reason, 'its worker was lost while it was asked to stop'));
      o_canceled := o_canceled + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'canceled'::plait.status;
    elsif v_counts and (l.losses + 1 >= p_max_losses or l.tries + 1 >= l.max_attempts)
          and l.tied and plait._has_open(l.job_id) then
      perform plait._suspend(l, v_now, 'fan_out ' || l.job_id, null);   -- it is buried when its children have ended
      update plait.attempts set status = 'lost', reason = 'worker_lost', error = format('its worker was lost %s times while it ran', l.losses + 2)
        where job_id = l.job_id and attempt = l.attempt;
      v_returned := v_returned || l.job_id;
      o_dead := o_dead + 1;
    elsif v_counts and (l.losses + 1 >= p_max_losses or l.tries + 1 >= l.max_attempts) then
      perform plait._end(l, v_now, 'lost', 'dead_letter', 'worker_lost', format('its worker was lost %s times while it ran', l.losses + 2));
      o_dead := o_dead + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'dead_letter'::plait.status;
    else
      update plait.live set state = 'queued', worker = null, run_at = v_now,
        lane = case when lane = 'leader' or lane like 'n:%' then 'suspect:' || lane when lane like 'suspect:%' then lane else 'suspect' end,
        losses = losses + v_counts::int, tries = tries + v_counts::int where job_id = l.job_id;
      insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, error, progress)
      values (l.job_id, l.tenant_id, l.run_at, l.run_at, v_now, l.attempt, l.worker, 'lost', 'worker_lost', 'its worker was lost while it ran',
              (select progress from plait.running_state r where r.job_id = l.job_id and r.attempt = l.attempt));
      delete from plait.running_state where job_id = l.job_id;
      o_requeued := o_requeued + 1;
      v_queues := v_queues || l.queue;
    end if;
  end loop;

  update plait.workers w set state = 'gone', running = 0
    where w.state = 'lost' and not exists (select from plait.live v where v.worker = w.id and v.state = 'running');

  for l in
    select v.* from plait.live v where v.cancel_requested < v_now - make_interval(secs => p_cancel_grace_s)
    order by v.job_id limit p_limit for update skip locked
  loop
    perform plait._end(l, v_now, 'canceled', 'canceled', 'cancel_forced', coalesce(l.cancel_reason, 'its handler did not stop when asked'));
    o_canceled := o_canceled + 1;
    v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'canceled'::plait.status;
  end loop;
  if cardinality(v_ended) > 0 or v_returned is not null then
    perform plait._fan_in(v_now, v_ended, v_fans, v_finals, v_returned, array(select 'dead_letter'::plait.status from unnest(v_returned)));
  else
    -- What was passed by because a row was locked. Not after the above: fan-outs are locked deepest first. For the same reason only
    -- one level of those whose parents end by it, which their fan-outs then count.
    select max(depth) into v_depth from plait.fan_outs where waited_for is not null and decided_at is not null and (id = parent_id or strategy = 'after' or on_timeout is not null);
    for f in
      select * from plait.fan_outs
      where waited_for is not null and decided_at is not null and (id <> parent_id and strategy <> 'after' and on_timeout is null or depth = v_depth)
      order by depth desc, id limit p_limit for no key update skip locked
    loop
      v_end := plait._resume_parent(f, v_now);
      o_resumed := o_resumed + v_end.o_resumed::int;
      if v_end.o_job is not null then
        v_ended := v_ended || v_end.o_job; v_fans := v_fans || v_end.o_fan_out; v_finals := v_finals || v_end.o_final;
      end if;
    end loop;
    if cardinality(v_ended) > 0 then
      perform plait._fan_in(v_now, v_ended, v_fans, v_finals);
    else
      for f in
        select * from plait.fan_outs where serial and turn is null and decided_at is null and succeeded + failed + canceled < total
        order by id limit p_limit for no key update skip locked
      loop
        perform plait._next_turn(f);
      end loop;
    end if;
  end if;

  with e as materialized (
    select id from plait.workers where state = 'alive' and expires_at < v_now order by id for update skip locked
  ), w as (
    update plait.workers w set state = 'lost', asleep = false from e where w.id = e.id and w.expires_at < v_now returning w.node
  )
  select count(*), array_agg(distinct w.node order by w.node) filter (where w.node is not null) into o_lost, v_nodes from w;
  foreach v_node in array coalesce(v_nodes, '{}') loop
    perform plait._leave_node(v_node, 'lost');
  end loop;
  if cardinality(v_ended) = 0 and v_returned is null then   -- for the same reason as above
    perform plait._depose(v_now);
  end if;

  if cardinality(v_queues) > 0 then
    perform plait._wake(v_queues);
  end if;
end $$;
