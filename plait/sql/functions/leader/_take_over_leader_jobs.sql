-- _take_over_leader_jobs: requeue the leader's jobs that the former leader still runs.
--
--   moves    running -> queued, or -> canceled if cancellation was requested
--   locks    live rows SKIP LOCKED: a locked row is being settled, and _still_leads rejects its
--            outcome; then the same as _fan_in
--   raises   nothing
--   called   elect, rescue
--
-- Called when a new process has become the leader, and by rescue for rows that were locked then.
-- The lost attempt does not count as used, because the job may not be the cause.
create or replace function plait._take_over_leader_jobs(p_now timestamptz) returns int
language plpgsql set enable_seqscan = off as $$
declare
  l        plait.live;
  v_holder text := (select holder from plait.leader where name = 'main');
  v_queues text[];
  v_ended  uuid[];
  v_fans   uuid[];
  v_n      int := 0;
begin
  for l in
    select v.*
    from plait.live v
    join plait.workers w on w.id = v.worker
    where v.lane in ('leader', 'suspect:leader') and v.state = 'running'
      and w.holder is distinct from v_holder
    order by v.job_id for update of v skip locked
  loop
    -- rescue tries again
    continue when l.cancel_requested is not null
      and cardinality(plait._lock_affected_fan_outs(array[l.job_id])) = 0;
    v_n := v_n + 1;
    if l.cancel_requested is not null then
      perform plait._make_final(
        p_live => l, p_now => p_now, p_status => 'canceled', p_final => 'canceled',
        p_reason => 'deposed', p_error => l.cancel_reason);
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id;
    else
      perform plait._requeue_leader_job(l, p_now);
      v_queues := v_queues || l.queue;
    end if;
  end loop;
  if v_ended is not null then
    perform plait._fan_in(
      p_now, v_ended, v_fans, array_fill('canceled'::plait.status, array[cardinality(v_ended)]));
  end if;
  if v_queues is not null then
    perform plait._wake_workers(v_queues);
  end if;
  return v_n;
end $$;
