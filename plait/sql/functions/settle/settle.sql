-- settle: record the outcomes of running attempts, a whole batch in one call.
--
--   moves    running -> succeeded | failed | dead_letter | skipped | canceled | scheduled | queued
--   locks    the same as _settle
--   raises   PL001 for an unknown outcome, a duplicate attempt or a result that is not JSON;
--            lock_not_available (55P03) if another transaction holds a row of an outcome; nothing
--            for a lost lease: that outcome is returned as stale
--   called   plait.store.workers.settle, plait.store.workers.settle_free
--
-- An outcome is succeeded, failed, timeout, skipped, snoozed, released or canceled; without
-- p_outcomes, all attempts have succeeded. A result is JSON text. A detail is a JSON object: error,
-- traceback, reason, permanent, delay_s, pid, exit_code, failure. Sending an outcome again has no
-- effect. With p_careful (see cycle), `accepted` is null for a busy outcome: it is neither accepted
-- nor stale.
create or replace function plait.settle(
  p_worker int, p_jobs uuid[], p_attempts int[], p_outcomes text[], p_results text[] default null,
  p_details text[] default null, p_ran_ms float8[] default null, p_careful boolean default false
) returns table (job_id uuid, attempt int, accepted boolean, status text)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_stale int[];
  v_busy  int[];
  r       record;
begin
  perform plait._require_read_committed();
  perform plait._check_outcomes(
    p_jobs => p_jobs, p_attempts => p_attempts, p_outcomes => p_outcomes, p_results => p_results,
    p_details => p_details, p_ran_ms => p_ran_ms);
  if exists (select from unnest(p_jobs, p_attempts) x(job, attempt)
             group by job, attempt
             having count(*) > 1) then
    raise exception 'a batch must contain each attempt only once' using errcode = 'PL001';
  end if;
  if p_careful then
    r := plait._settle_skip_locked(
      p_worker => p_worker, p_now => plait._now_after_xid(), p_jobs => p_jobs,
      p_attempts => p_attempts, p_outcomes => p_outcomes, p_results => p_results,
      p_details => p_details, p_ran_ms => p_ran_ms);
    v_stale := r.o_stale;
    v_busy := r.o_busy;
  else
    v_stale := plait._settle(
      p_worker => p_worker, p_now => plait._now_after_xid(), p_jobs => p_jobs,
      p_attempts => p_attempts, p_outcomes => p_outcomes, p_results => p_results,
      p_details => p_details, p_ran_ms => p_ran_ms);
  end if;
  return query
    select x.id, x.attempt,
           case when x.n = any(v_busy) then null else not coalesce(x.n = any(v_stale), false) end,
           v.status::text
    from unnest(p_jobs, p_attempts) with ordinality x(id, attempt, n)
    left join plait.job v on v.id = x.id
    order by x.n;
exception when data_exception or program_limit_exceeded then
  raise exception 'result is not valid JSON: %', sqlerrm using errcode = 'PL001';
end $$;
