-- leave: release a stopping worker's running jobs, so that other workers can claim them now.
--
--   moves    running -> queued, or -> canceled if that was requested
--   locks    the worker's row, against concurrent claims; then live rows SKIP LOCKED
--   raises   nothing
--   called   plait.store.workers.leave
--
-- This does not count as an attempt used. If a call whose connection broke is still settling a job,
-- or an operator is canceling it, its row is skipped and `clearing` is set, so that rescue requeues
-- the job. p_released: how many jobs the worker has released itself while it shut down.
create or replace function plait.leave(p_worker int, p_released int default 0) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now  timestamptz;
  v_held int;
  v_jobs uuid[];
  v_back record;
  v_node text;
begin
  perform plait._require_read_committed();
  perform from plait.workers where id = p_worker and state = 'alive' for update;
  if not found then
    return 0;
  end if;
  v_now := plait._now_after_xid();
  select count(*), coalesce((array_agg(job_id order by run_at desc, job_id))[:100], '{}')
  into v_held, v_jobs
  from plait.live
  where worker = p_worker and state = 'running';
  v_back := plait._release_running(p_worker, v_now, 'left', '{}', '{}');
  update plait.workers set
    state = 'gone', ended_at = v_now, end_reason = 'left', asleep = false, running = 0,
    prefetched = 0, seen_at = v_now, held = v_held, last_jobs = v_jobs,
    released = greatest(0, coalesce(p_released, 0)) + v_back.o_released,
    canceled = v_back.o_canceled,
    clearing = exists (select from plait.live where worker = p_worker and state = 'running')
  where id = p_worker
  returning node into v_node;
  if v_node is not null then
    perform plait._update_node(v_node, 'left');
  end if;
  return v_back.o_released + v_back.o_canceled;
end $$;
