-- _release_running: requeue jobs that are assigned to a worker, except those that it holds.
--
--   moves    running -> queued, or -> canceled if that was requested
--   locks    live rows SKIP LOCKED, because the caller holds the worker's row and must not wait;
--            then the same as _fan_in
--   raises   nothing
--   called   after_restore, heartbeat, leave
--
-- A release does not count as an attempt used.
create or replace function plait._release_running(
  p_worker int, p_now timestamptz, p_reason text, p_held uuid[], p_held_attempts int[],
  out o_released int, out o_canceled int)
language plpgsql as $$
declare
  l        plait.live;
  v_queues text[];
  v_ended  uuid[] := '{}';
  v_fans   uuid[] := '{}';
begin
  o_canceled := 0;
  for l in
    select v.*
    from plait.live v
    where v.worker = p_worker and v.cancel_requested is not null
      and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt)
                      where h.id = v.job_id and h.attempt = v.attempt)
    order by v.job_id for update skip locked
  loop
    -- a fan-out is locked: the job is left for the next call, or for rescue
    continue when cardinality(plait._lock_affected_fan_outs(array[l.job_id])) = 0;
    perform plait._make_final(
      p_live => l, p_now => p_now, p_status => 'canceled', p_final => 'canceled',
      p_reason => p_reason, p_error => l.cancel_reason);
    o_canceled := o_canceled + 1;
    v_ended := v_ended || l.job_id;
    v_fans := v_fans || l.fan_out_id;
  end loop;
  if o_canceled > 0 then
    perform plait._fan_in(
      p_now, v_ended, v_fans, array_fill('canceled'::plait.status, array[o_canceled]));
  end if;

  with c as materialized (
    select v.job_id, v.tenant_id, v.run_at, v.attempt, v.queue
    from plait.live v
    where v.worker = p_worker and v.state = 'running' and v.cancel_requested is null
      and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt)
                      where h.id = v.job_id and h.attempt = v.attempt)
    order by v.job_id for update skip locked
  ), u as (
    update plait.live v set state = 'queued', worker = null, run_at = p_now
    from c
    where v.job_id = c.job_id
  ), r as (
    delete from plait.running_state s using c
    where s.job_id = c.job_id
    returning s.job_id, s.attempt, s.progress
  ), a as (
    insert into plait.attempts (
      job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason,
      progress)
    select c.job_id, c.tenant_id, c.run_at, case when p_reason <> 'not_held' then c.run_at end,
           p_now, c.attempt, p_worker, 'released', p_reason, r.progress
    from c
    left join r on r.job_id = c.job_id and r.attempt = c.attempt
    returning 1
  )
  select count(*), (select array_agg(distinct queue) from c) into o_released, v_queues from a;
  if o_released > 0 then
    perform plait._wake_workers(v_queues);
  end if;
end $$;
