-- _suspend: make a running job wait without a worker. This does not count as an attempt used.
--
--   moves    running -> waiting
--   locks    the caller holds the live row
--   raises   nothing
--   called   await_steps, continue_as_new, open_fan_out, open_nodes, rescue, _settle_tied
--
-- _settle_tied passes the result of a handler that has returned.
create or replace function plait._suspend(
  p_live plait.live, p_now timestamptz, p_wait_on text, p_wake_at timestamptz,
  p_result json default null, p_started_at timestamptz default null
) returns void
language plpgsql as $$
begin
  update plait.live set
    state = 'waiting', worker = null, run_at = p_now, wait_on = p_wait_on, wake_at = p_wake_at,
    -- Its worker is alive, so it is not a suspect. It continues on workers of the same build.
    losses = 0,
    suspect_group = null, cancel_requested = null,
    cancel_reason = case when cancel_by is not null then cancel_reason end,
    lane = plait._lane(
      definition, tenant_id, limit_key, lane,
      (select w.build from plait.workers w where w.id = p_live.worker)),
    -- the job may have been enqueued before its kind was known
    tied = tied
      or exists (select from plait.definitions d where d.name = live.definition and d.kind = 'node')
  where job_id = p_live.job_id;
  insert into plait.attempts (
    job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason,
    progress, result)
  values (p_live.job_id, p_live.tenant_id, p_live.run_at, coalesce(p_started_at, p_live.run_at),
          p_now, p_live.attempt, p_live.worker, 'suspended', p_wait_on,
          (select progress
           from plait.running_state r
           where r.job_id = p_live.job_id and r.attempt = p_live.attempt),
          p_result);
  delete from plait.running_state where job_id = p_live.job_id;
end $$;
