-- continue_as_new: start a running job again, with a new payload and no steps.
--
--   moves    running -> queued
--   locks    the live row; then its fan-outs in id order; the job's row
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; PL001 for an invalid payload
--   called   plait.store.workflows.continue_as_new
--
-- Handles, the dedupe key and unread signals stay valid. Returns suspended (also if the same call
-- succeeded before), stale when the lease is lost, or canceled when the job was asked to stop. The
-- number of attempts used is reset, and any build may run the job. Spawned children remain its
-- children. Sub-jobs of open fan-outs are canceled. The new run requests its follow-ups again.
-- Consumed signals are deleted after a day, so that a job can continue forever without growing.
-- p_undelivered: steps whose end did not reach the handler; signals that they consumed are unread
-- again.
create or replace function plait.continue_as_new(
  p_worker int, p_job uuid, p_attempt int, p_payload text, p_undelivered json default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now timestamptz := plait.now();
  l     plait.live;
begin
  perform plait._require_read_committed();
  if p_payload is null or octet_length(p_payload) > 1048576
     or json_typeof(p_payload::json) <> 'object' then
    raise exception 'a payload must be a JSON object of at most 1 MiB' using errcode = 'PL001';
  end if;
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  if l.job_id is null then
    return plait._status_without_lease(p_worker, p_job, p_attempt);
  end if;
  if l.cancel_requested is not null then
    return 'canceled';
  end if;
  perform from plait.fan_outs
  where parent_id = p_job and (decided_at is null or waited_for is not null)
    and strategy not in ('nursery', 'after')
  order by id for no key update;
  update plait.fan_outs set
    waited_for = null,
    cancel_due = cancel_due or decided_at is null and succeeded + failed + canceled < total
  where parent_id = p_job and (decided_at is null or waited_for is not null)
    and strategy not in ('nursery', 'after');
  if p_undelivered is not null then
    perform plait._return_signals(p_job, p_undelivered);
  end if;
  delete from plait.steps where job_id = p_job;
  delete from plait.follow_ups where job_id = p_job;
  delete from plait.event_waits where job_id = p_job;
  delete from plait.signals
  where job_id = p_job and consumed and sent_at < v_now - interval '1 day';
  update plait.jobs set payload = p_payload::json, runs = coalesce(runs, 1) + 1 where id = p_job;
  delete from plait.search_values where job_id = p_job;
  perform plait._store_search_values(array[p_job], array[l.definition]);
  perform plait._suspend(l, v_now, 'continued', null);
  update plait.live set
    state = 'queued', run_at = plait._now_after_xid(), wait_on = null, failed_attempts = 0,
    lane = plait._lane(
      definition, tenant_id, limit_key,
      case when l.lane like 'n:%' or l.lane like 'suspect:n:%' then l.lane else '' end)
  where job_id = p_job;
  perform plait._wake_workers(array[l.queue]);
  return 'suspended';
end $$;
