-- analytics: outcomes and times of a tenant's jobs in a time range, by definition.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read this tenant
--   called   plait.store.connectors.analytics, users
--
--   p_from   start of the range. Default: a day before its end
--   p_to     end of the range. Default: now
--   p_scan   maximum number of jobs to read
--
--   select definition, jobs, failed, run_p95_s from plait.analytics();
--
-- Reads at most the newest p_scan jobs; `complete` is true if these are all jobs in the range.
-- wait_…: from the enqueue to the first start. run_…: the total run time of all attempts of a job.
create or replace function plait.analytics(
  p_tenant uuid default null, p_from timestamptz default null, p_to timestamptz default null,
  p_scan int default 10000
) returns table (
  definition text, jobs bigint, live bigint, succeeded bigint, failed bigint, dead_letter bigint,
  canceled bigint, skipped bigint, attempts bigint, wait_p50_s float8, wait_p95_s float8,
  run_p50_s float8, run_p95_s float8, complete boolean)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_shift  interval := clock_timestamp() - plait.now();  -- clock: ids come from the real clock
  v_to     timestamptz := plait._clamp_time(coalesce(p_to, plait.now()));
  v_from   timestamptz := plait._clamp_time(coalesce(p_from, v_to - interval '1 day'));
  v_scan   int := least(greatest(p_scan, 1), 100000);
begin
  return query
    with seen as materialized (
      select j.id, j.definition, j.created_at
      from plait.jobs j
      where j.tenant_id = v_tenant
        and j.id >= plait._uuid_floor(greatest(v_from + v_shift - interval '1 day', 'epoch'))
        and j.id < plait._uuid_floor(greatest(v_to + v_shift + interval '1 day', 'epoch'))
        and j.created_at >= v_from and j.created_at < v_to
      order by j.id desc limit v_scan
    ), each as (
      select s.definition, s.created_at, l.job_id is not null as is_live, a.final, a.n, a.began,
             a.ran
      from seen s
      left join plait.live l on l.job_id = s.id
      left join lateral (
        select count(*) filter (where t.started_at is not null) as n, min(t.started_at) as began,
               sum(extract(epoch from t.finished_at - t.started_at))::float8 as ran,
               (array_agg(t.final order by t.attempt desc))[1] as final
        from plait.attempts t
        where t.job_id = s.id) a on true
    )
    select e.definition::text, count(*), count(*) filter (where e.is_live),
           count(*) filter (where not e.is_live and e.final = 'succeeded'),
           count(*) filter (where not e.is_live and e.final = 'failed'),
           count(*) filter (where not e.is_live and e.final = 'dead_letter'),
           count(*) filter (where not e.is_live and e.final = 'canceled'),
           count(*) filter (where not e.is_live and e.final = 'skipped'),
           coalesce(sum(e.n), 0)::bigint,
           percentile_cont(0.5) within group (
             order by extract(epoch from e.began - e.created_at)::float8),
           percentile_cont(0.95) within group (
             order by extract(epoch from e.began - e.created_at)::float8),
           percentile_cont(0.5) within group (order by e.ran),
           percentile_cont(0.95) within group (order by e.ran), (select count(*) from seen) < v_scan
    from each e
    group by e.definition
    order by 2 desc, 1;
end $$;
