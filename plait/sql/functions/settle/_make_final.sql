-- _make_final: make a single live job final.
--
--   moves    any live state -> canceled | dead_letter | failed; running | waiting -> succeeded |
--            failed
--   locks    the caller holds the live row; then dedupe keys; for a success with follow-ups, as
--            _enqueue_follow_ups
--   raises   nothing
--   called   cancel, _release_running, rescue, resume, _resume_or_end_parent, _settle_tied,
--            _take_over_leader_jobs
create or replace function plait._make_final(
  p_live plait.live, p_now timestamptz, p_status plait.outcome, p_final plait.status, p_reason text,
  p_error text, p_result json default null, p_started_at timestamptz default null,
  p_failure json default null
) returns void
language plpgsql as $$
declare v_ran boolean := p_live.state = 'running';
begin
  delete from plait.live where job_id = p_live.job_id;
  if p_live.dedupe_key is not null then
    delete from plait.dedupe
    where tenant_id = p_live.tenant_id and key = p_live.dedupe_key and job_id = p_live.job_id;
  end if;
  insert into plait.attempts (
    job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, reason,
    error, progress, result, failure)
  values (p_live.job_id, p_live.tenant_id, case when v_ran then p_live.run_at end,
          case when v_ran then coalesce(p_started_at, p_live.run_at) end, p_now,
          case when v_ran then p_live.attempt else p_live.attempt + 1 end, p_live.worker, p_status,
          p_final, p_reason, p_error,
          (select progress
           from plait.running_state r
           where r.job_id = p_live.job_id and r.attempt = p_live.attempt),
          p_result, p_failure);
  delete from plait.running_state where job_id = p_live.job_id;
  if p_final in ('failed', 'dead_letter') then
    insert into plait.failure_changes (tenant_id, job_id) values (p_live.tenant_id, p_live.job_id);
  end if;
  if p_final = 'succeeded' and p_live.tied then
    perform plait._enqueue_follow_ups(p_live.job_id, p_live.tenant_id);
  end if;
end $$;
