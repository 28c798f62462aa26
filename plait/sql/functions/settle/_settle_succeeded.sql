-- _settle_succeeded: record successes, which are most outcomes, for one attempt number.
--
--   moves    running -> succeeded
--   locks    live rows in id order, then dedupe keys
--   raises   nothing: rows that do not match, or are tied, are not counted; children of fan-outs
--            are returned, for _fan_in
--   called   _settle
--
-- Nested loops are disabled: hundreds of results are joined to hundreds of deleted rows, but a
-- cached plan assumes ten of each.
-- The condition is `worker + 0 = p_worker` without the state, which the worker implies. Otherwise
-- the planner may use the index of running rows and read all jobs that this worker runs instead of
-- looking up these jobs (measured for 500 outcomes while 1,000 jobs ran: 8 ms instead of 2 ms).
create or replace function plait._settle_succeeded(
  p_worker int, p_now timestamptz, p_attempt int, p_succeeded uuid[],
  p_jobs uuid[], p_attempts int[], p_results text[], p_ran_ms float8[],
  out o_n int, out o_children uuid[], out o_fan_outs uuid[]
)
language plpgsql set enable_nestloop = off as $$
declare
  v_now_s   float8 := extract(epoch from p_now);
  v_tenants uuid[];
  v_keys    text[];
  v_keyed   uuid[];
begin
  with d as (
    delete from plait.live
    where job_id = any(p_succeeded) and attempt = p_attempt and worker + 0 = p_worker and not tied
    returning job_id, tenant_id, run_at, dedupe_key, fan_out_id
  ), a as (
    insert into plait.attempts (
      job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final,
      result)
    select d.job_id, d.tenant_id, d.run_at,
           greatest(
             d.run_at,
             to_timestamp(v_now_s - least(greatest(0, coalesce(x.ran_ms, 3.2e12)), 3.2e12) / 1000)),
           p_now, p_attempt, p_worker, 'succeeded', 'succeeded', x.result::json
    from d
    join unnest(p_jobs, p_attempts, p_results, p_ran_ms) x(id, attempt, result, ran_ms)
      on x.id = d.job_id and x.attempt = p_attempt
    returning 1
  )
  select (select count(*) from a), array_agg(tenant_id) filter (where dedupe_key is not null),
         array_agg(dedupe_key) filter (where dedupe_key is not null),
         array_agg(job_id) filter (where dedupe_key is not null),
         array_agg(job_id) filter (where fan_out_id is not null),
         array_agg(fan_out_id) filter (where fan_out_id is not null)
  into o_n, v_tenants, v_keys, v_keyed, o_children, o_fan_outs
  from d;
  if v_keys is not null then
    perform plait._release_keys(v_tenants, v_keys, v_keyed);
  end if;
end $$;
