-- heartbeat: renew a worker's lease, which covers all its running jobs.
--
--   moves    running -> queued, or -> canceled if that was requested, for jobs that the worker does
--            not hold (p_held)
--   locks    the worker's row; live rows SKIP LOCKED
--   raises   PL011 when the worker is lost or unknown: other workers may run its jobs by now
--   called   plait.store.workers.heartbeat
--
-- If the reply to a claim is lost, the worker does not know that jobs are assigned to it. If
-- o_running differs from the number of jobs that it holds, and none of its claims is in progress,
-- it sends p_held and p_held_attempts. All its other jobs are then released, which does not count
-- as an attempt used. o_gone: jobs that the worker holds but no longer owns; their handlers must
-- stop. p_blocked_s: how long the handler of p_blocked_job has blocked the worker's event loop;
-- null if it is not blocked. p_prefetched: the number of jobs that the worker holds but has not
-- started; p_running does not include them.
create or replace function plait.heartbeat(
  p_worker int, p_running int default 0, p_held uuid[] default null,
  p_held_attempts int[] default null, p_blocked_s float8 default null,
  p_blocked_job uuid default null, p_prefetched int default 0, out o_running int,
  out o_cancel_jobs uuid[], out o_cancel_attempts int[], out o_released int, out o_gone uuid[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  update plait.workers set
    seen_at = v_now, expires_at = v_now + make_interval(secs => lease_s), running = p_running,
    prefetched = p_prefetched, blocked_since = v_now - make_interval(secs => p_blocked_s),
    blocked_job = p_blocked_job
  where id = p_worker and state = 'alive';
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;

  o_released := 0;
  if p_held is not null then
    select r.o_released + r.o_canceled into o_released
    from plait._release_running(
      p_worker, plait._now_after_xid(), 'not_held', p_held, p_held_attempts) r;
    select array_agg(h.id) into o_gone
    from unnest(p_held, p_held_attempts) h(id, attempt)
    where not exists (select from plait.live l
                      where l.job_id = h.id and l.attempt = h.attempt and l.worker = p_worker);
  end if;

  select count(*),
         array_agg(job_id) filter (where cancel_requested is not null or cancel_by is not null),
         array_agg(attempt) filter (where cancel_requested is not null or cancel_by is not null)
  into o_running, o_cancel_jobs, o_cancel_attempts
  from plait.live
  where worker = p_worker and state = 'running';
end $$;
