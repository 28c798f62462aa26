-- heartbeat: renew a worker's lease, and with it all its running jobs.
--
--   moves    running -> queued, only for jobs that the worker says it does not hold (p_held)
--   locks    the worker's row; live rows SKIP LOCKED
--   raises   PL011 when the worker is lost or unknown: its jobs are others' now
--   called   plait.store.workers.heartbeat
--
-- A reply to a claim may be lost, and leave jobs running that the worker knows nothing of. When o_running differs from what
-- it holds, and no claim of its own is under way, it sends (p_held, p_held_attempts); the others are released without
-- burning a try. o_gone are those it holds and has lost: their handlers must stop.
create or replace function plait.heartbeat(
  p_worker int, p_running int default 0, p_held uuid[] default null, p_held_attempts int[] default null,
  out o_running int, out o_cancel_jobs uuid[], out o_cancel_attempts int[], out o_released int, out o_gone uuid[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[];
begin
  perform plait._require_read_committed();
  update plait.workers set seen_at = v_now, expires_at = v_now + make_interval(secs => lease_s), running = p_running
    where id = p_worker and state = 'alive';
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;

  o_released := 0;
  if p_held is not null then
    with c as materialized (
      select l.job_id, l.tenant_id, l.run_at, l.attempt, l.queue from plait.live l
      where l.worker = p_worker and l.state = 'running'
        and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt) where h.id = l.job_id and h.attempt = l.attempt)
      order by l.job_id for update skip locked
    ), u as (
      update plait.live l set state = 'queued', worker = null, run_at = v_now, cancel_requested = null from c where l.job_id = c.job_id
    ), a as (
      insert into plait.attempts (job_id, tenant_id, claimed_at, finished_at, attempt, worker, status, reason)
      select job_id, tenant_id, run_at, v_now, attempt, p_worker, 'released', 'not_held' from c returning 1
    )
    select count(*), (select array_agg(distinct queue) from c) into o_released, v_queues from a;
    if o_released > 0 then
      perform plait._wake(v_queues);
    end if;
    select array_agg(h.id) into o_gone from unnest(p_held, p_held_attempts) h(id, attempt)
      where not exists (select from plait.live l where l.job_id = h.id and l.attempt = h.attempt and l.worker = p_worker);
  end if;

  select count(*), array_agg(job_id) filter (where cancel_requested is not null),
         array_agg(attempt) filter (where cancel_requested is not null)
    into o_running, o_cancel_jobs, o_cancel_attempts
    from plait.live where worker = p_worker and state = 'running';
end $$;
