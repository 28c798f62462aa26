-- latency: how long a sample of jobs waited to start, and how long they ran, over time.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for more than 200 points, PL004 for a caller that may not read across tenants
--   called   plait.store.statistics.latency, users
--
--   p_from   start of the time range. Default: an hour ago
--   p_step   length of an interval: one minute to 366 days
--
--   select at, wait_p95, run_p95 from plait.latency(p_step => '10 minutes');
--
-- Only the newest 100 jobs of each interval are read. A job waits from its due time until its first
-- claim. Its run time is that of its last attempt.
--
-- All data is stored anyway, so this adds no cost to jobs.
create or replace function plait.latency(
  p_tenant uuid default null, p_all boolean default false, p_from timestamptz default null,
  p_step interval default '1 minute'
) returns table (
  at timestamptz, jobs bigint, wait_p50 float8, wait_p95 float8, run_p50 float8, run_p95 float8)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from   timestamptz := plait._clamp_time(coalesce(p_from, plait.now() - interval '1 hour'));
  v_shift  interval := clock_timestamp() - plait.now();  -- clock: ids come from the real clock
begin
  if p_step is null or p_step not between interval '1 minute' and interval '366 days'
     or (plait.now() - v_from) / 200 > p_step / 1 then
    raise exception 'latency must have at most 200 intervals, each between one minute and 366 days long'
      using errcode = 'PL001';
  end if;
  -- date_bin accepts no months
  p_step := make_interval(secs => extract(epoch from p_step)::float8);
  return query
    select s.at, count(*), percentile_cont(0.5) within group (order by s.wait),
           percentile_cont(0.95) within group (order by s.wait),
           percentile_cont(0.5) within group (order by s.run),
           percentile_cont(0.95) within group (order by s.run)
    from (
      select g.at,
             extract(
               epoch from f.claimed_at - greatest(j.created_at, j.scheduled_for))::float8 as wait,
             extract(epoch from l.finished_at - l.started_at)::float8 as run
      from generate_series(date_bin(p_step, v_from, 'epoch'), plait.now(), p_step) g(at)
      cross join lateral (
        (select j.id, j.created_at, j.scheduled_for
         from plait.jobs j
         where v_tenant is null
           and j.id >= plait._uuid_floor(greatest(g.at + v_shift, 'epoch'))
           and j.id < plait._uuid_floor(g.at + p_step + v_shift)
         order by j.id desc limit 100)
        union all (select j.id, j.created_at, j.scheduled_for
                   from plait.jobs j
                   where v_tenant is not null and j.tenant_id = v_tenant
                     and j.id >= plait._uuid_floor(greatest(g.at + v_shift, 'epoch'))
                     and j.id < plait._uuid_floor(g.at + p_step + v_shift)
                   order by j.id desc limit 100)) j
      cross join lateral (
        select a.claimed_at
        from plait.attempts a
        where a.job_id = j.id and a.claimed_at is not null
        order by a.attempt limit 1) f
      cross join lateral (
        select a.started_at, a.finished_at
        from plait.attempts a
        where a.job_id = j.id
        order by a.attempt desc limit 1) l) s
    group by 1
    order by 1;
end $$;
