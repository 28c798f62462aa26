-- _cancel_with_grace: ask started jobs with a grace period (cancel_grace_s) to stop; return them.
--
--   moves    scheduled | waiting -> queued, so that the handler receives the cancellation
--   locks    the caller holds the live rows
--   raises   nothing
--   called   cancel, _cancel_rows
--
-- The worker receives the cancellation with its next round trip, or when the job would wait
-- (await_steps). rescue ends the job after its grace period. A job whose handler has returned and
-- that only waits for its children is not asked to stop. Neither is a job that still waits for its
-- turn in a serial nursery.
create or replace function plait._cancel_with_grace(p_jobs uuid[], p_now timestamptz, p_reason text)
returns uuid[] language plpgsql set enable_seqscan = off as $$
declare
  v_asked   uuid[];
  v_queues  text[];
  v_workers int[];
  v_worker  int;
begin
  with u as (
    update plait.live l set
      cancel_by = p_now + make_interval(secs => d.cancel_grace_s), cancel_reason = p_reason,
      state = case l.state when 'running' then l.state else 'queued' end,
      run_at = case l.state when 'running' then l.run_at else p_now end, wait_on = null,
      wake_at = null
    from plait.definitions d
    where l.job_id = any(p_jobs) and d.name = l.definition and d.cancel_grace_s is not null
      and l.attempt > 0 and l.cancel_by is null
      and coalesce(l.wait_on, '') not in ('turn', 'fan_out ' || l.job_id)
    returning l.job_id, l.queue, l.worker
  )
  select array_agg(u.job_id), array_agg(distinct u.queue) filter (where u.worker is null),
         array_agg(distinct u.worker) filter (where u.worker is not null)
  into v_asked, v_queues, v_workers
  from u;
  if v_queues is not null then
    perform plait._wake_workers(v_queues, true);
  end if;
  foreach v_worker in array coalesce(v_workers, '{}') loop
    perform plait._notify('cancel ' || v_worker);
  end loop;
  return coalesce(v_asked, '{}');
end $$;
