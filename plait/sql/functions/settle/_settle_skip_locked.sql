-- _settle_skip_locked: record outcomes whose rows are not locked; return the others as busy.
--
--   moves    the same as _settle
--   locks    live rows and fan-outs SKIP LOCKED. Never waits
--   raises   nothing for a lost lease: the position of the outcome is returned
--   called   cycle, settle
--
-- Called with p_careful, after a lock timeout. A user's transaction that calls cancel, signal,
-- spawn or enqueue(after=…) holds the job's row until it commits. A transaction that calls cancel,
-- spawn or retry holds the row of the job's fan-out. Outcomes of other jobs must not wait for it.
create or replace function plait._settle_skip_locked(
  p_worker int, p_now timestamptz, p_jobs uuid[], p_attempts int[], p_outcomes text[],
  p_results text[], p_details text[], p_ran_ms float8[], out o_stale int[], out o_busy int[]
) language plpgsql
set enable_seqscan = off as $$
declare
  v_held uuid[];
  v_free int[];
begin
  v_held := array(
    select l.job_id from plait.live l where l.job_id = any(p_jobs) and l.worker + 0 = p_worker
    order by l.job_id for update skip locked);
  v_held := plait._lock_affected_fan_outs(v_held);
  select array_agg(x.n::int order by x.n) filter (where x.busy),
         array_agg(x.n::int order by x.n) filter (where not x.busy)
  into o_busy, v_free
  from (select u.n, l.job_id is not null and u.id <> all(v_held) as busy
        from unnest(p_jobs, p_attempts) with ordinality u(id, attempt, n)
        left join plait.live l
          on l.job_id = u.id and l.attempt = u.attempt and l.worker + 0 = p_worker) x;
  if v_free is not null then
    o_stale := array(select v_free[s] from unnest(plait._settle(
      p_worker => p_worker, p_now => p_now,
      p_jobs => array(select p_jobs[n] from unnest(v_free) n),
      p_attempts => array(select p_attempts[n] from unnest(v_free) n),
      p_outcomes => case when p_outcomes is not null
        then array(select p_outcomes[n] from unnest(v_free) n) end,
      p_results => case when p_results is not null
        then array(select p_results[n] from unnest(v_free) n) end,
      p_details => case when p_details is not null
        then array(select p_details[n] from unnest(v_free) n) end,
      p_ran_ms => case when p_ran_ms is not null
        then array(select p_ran_ms[n] from unnest(v_free) n) end)) s);
  end if;
end $$;
