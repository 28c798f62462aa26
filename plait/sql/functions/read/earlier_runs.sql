-- earlier_runs: how long earlier jobs of the same definition ran, to compare a job with them.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job
--   called   plait.store.statistics.earlier_runs, users
--
--   p_runs   how many earlier jobs to count, at most 1,000
--   p_scan   how many rows to look through for them, at most 100,000
--
--   select runs, mean_s, since from plait.earlier_runs(:'job');
--
-- Counts the tenant's newest p_runs jobs of this definition that were enqueued before this one and
-- have succeeded. Run times are from the first start to the end, as total_s of job_times. since:
-- when the oldest counted job was enqueued. complete: there are no more than p_scan earlier jobs to
-- look through, or p_runs were found; false: older ones may exist. A job with fan-outs is compared
-- with jobs that have fan-outs, which are found by those: the children of its earlier runs, however
-- many, are not looked through. No table of averages is kept, so jobs pay nothing for this.
create or replace function plait.earlier_runs(
  p_job uuid, p_tenant uuid default null, p_all boolean default false, p_runs int default 100,
  p_scan int default 10000
) returns table (runs int, mean_s float8, p50_s float8, p95_s float8, since timestamptz,
                 complete boolean)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_runs    int := least(greatest(p_runs, 1), 1000);
  v_scan    int := least(greatest(p_scan, 1), 100000);
  v_fan_out uuid;
  j         plait.jobs;
begin
  select * into j
  from plait.jobs t
  where t.id = p_job and (v_tenant is null or t.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  v_fan_out := (select f.id from plait.fan_outs f
                where f.parent_id = p_job and f.total > 0
                order by f.id limit 1);
  return query
    with scanned as materialized (
      (select f.parent_id as id, f.total > 0 and f.tenant_id = j.tenant_id as fits
       from plait.fan_outs f
       where v_fan_out is not null and f.id < v_fan_out
       order by f.id desc limit v_scan)
      union all (select t.id, t.definition = j.definition
                 from plait.jobs t
                 where v_fan_out is null and t.tenant_id = j.tenant_id and t.id < p_job
                 order by t.id desc limit v_scan)
    ), ran as materialized (
      select t.created_at, extract(epoch from a.finished_at - b.began)::float8 as run_s
      from (
        select distinct s.id from scanned s where s.fits and s.id < p_job order by s.id desc) s
      join plait.jobs t
        on t.id = s.id and t.tenant_id = j.tenant_id and t.definition = j.definition
      cross join lateral (select t2.final, t2.finished_at
                          from plait.attempts t2
                          where t2.job_id = t.id
                          order by t2.attempt desc limit 1) a
      cross join lateral (
        select min(coalesce(t2.started_at, t2.claimed_at)) as began
        from plait.attempts t2
        where t2.job_id = t.id and t2.claimed_at is not null
          and not (t2.status = 'released' and t2.started_at >= t2.finished_at)) b
      where a.final = 'succeeded' and b.began is not null
        and not exists (select from plait.live l where l.job_id = t.id)
      order by s.id desc limit v_runs
    )
    select count(*)::int, avg(r.run_s), percentile_cont(0.5) within group (order by r.run_s),
           percentile_cont(0.95) within group (order by r.run_s), min(r.created_at),
           count(*) = v_runs or (select count(*) from scanned) < v_scan
    from ran r;
end $$;
