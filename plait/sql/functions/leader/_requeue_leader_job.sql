-- _requeue_leader_job: requeue a leader's job whose process is no longer the leader.
--
--   moves    running -> queued
--   locks    the caller holds the live row
--   raises   nothing
--   called   _settle_tied, _take_over_leader_jobs
create or replace function plait._requeue_leader_job(p_live plait.live, p_now timestamptz)
returns void language plpgsql as $$
begin
  update plait.live set state = 'queued', worker = null, run_at = plait._now_after_xid()
  where job_id = p_live.job_id;
  insert into plait.attempts (
    job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, error,
    progress)
  values (p_live.job_id, p_live.tenant_id, p_live.run_at, p_live.run_at, p_now, p_live.attempt,
          p_live.worker, 'lost', 'deposed',
          'another process is the leader now: the outcome of the former leader is not accepted',
          (select progress
           from plait.running_state r
           where r.job_id = p_live.job_id and r.attempt = p_live.attempt));
  delete from plait.running_state where job_id = p_live.job_id;
end $$;
