-- count_failures: count failures by error, from the jobs that changed since the last count.
--
--   moves    nothing
--   locks    tries one of plait's own locks, so that only one process counts at a time
--   raises   nothing
--   called   plait.store.leader.count_failures
--
-- A change is a row of failure_changes, written by the transaction that settles, retries or deletes
-- a job. It becomes visible when that transaction commits, however late. This function counts and
-- deletes it in one transaction, so nothing is missed or counted twice. A change only names its
-- job; the details are read from the job's current attempts.
-- o_more: call again immediately. o_took_s: duration of the call; the caller waits twenty times as
-- long.
create or replace function plait.count_failures(
  p_limit int default 5000, out o_more boolean, out o_took_s float8
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_began        timestamptz := clock_timestamp();  -- clock: measures this call
  v_now          timestamptz := plait.now();        -- before anything is read
  v_jobs         uuid[];
  v_n            int;
  v_tenants      uuid[];
  v_definitions  text[];
  v_fingerprints text[];
  v_statuses     plait.status[];
  v_hours        timestamptz[];
begin
  o_more := false;
  o_took_s := 0;
  perform plait._require_read_committed();
  if not plait._try_lock('count_failures') then
    return;
  end if;
  with taken as (
    delete from plait.failure_changes c
    where c.ctid = any(array(select n.ctid from plait.failure_changes n limit p_limit))
    returning c.job_id
  )
  select array_agg(distinct t.job_id), count(*) into v_jobs, v_n from taken t;
  o_more := v_n >= p_limit;

  with d as materialized (
    select * from plait._failure_deltas(v_jobs)
  ), added as (
    insert into plait.failure_log (
      tenant_id, job_id, finished_at, attempt, worker, status, current, definition, fingerprint)
    select d.tenant_id, d.job_id, d.finished_at, d.attempt, d.worker, d.status, d.current,
           d.definition, d.fingerprint
    from d where d.failures = 1
  ), retried as (
    update plait.failure_log l set current = false
    from d where d.failures = 0 and l.job_id = d.job_id and l.attempt = d.attempt
  ), deleted as (
    delete from plait.failure_log l
    using d where d.failures = -1 and l.job_id = d.job_id and l.attempt = d.attempt
  ), by_hour as (
    insert into plait.failure_hours as h (
      tenant_id, definition, fingerprint, status, hour, failures)
    select d.tenant_id, d.definition, d.fingerprint, d.status,
           date_trunc('hour', d.finished_at, 'UTC'), sum(d.failures)
    from d where d.failures <> 0 group by 1, 2, 3, 4, 5
    on conflict (tenant_id, definition, fingerprint, status, hour)
      do update set failures = h.failures + excluded.failures
  ), by_error as (
    insert into plait.failure_groups as g (
      tenant_id, definition, fingerprint, status, jobs, failures, first_at, last_at, last_job)
    select d.tenant_id, d.definition, d.fingerprint, d.status, sum(d.jobs), sum(d.failures),
           min(case when d.failures = 1 then d.finished_at else 'infinity' end),
           max(case when d.failures = 1 then d.finished_at else '-infinity' end),
           (array_agg(d.job_id order by d.failures desc, d.finished_at desc, d.job_id desc))[1]
    from d group by 1, 2, 3, 4
    on conflict (tenant_id, definition, fingerprint, status) do update set
      jobs = g.jobs + excluded.jobs,
      failures = g.failures + excluded.failures,
      first_at = least(g.first_at, excluded.first_at),
      last_at = greatest(g.last_at, excluded.last_at),
      last_job = case when (excluded.last_at, excluded.last_job) > (g.last_at, g.last_job)
                      then excluded.last_job else g.last_job end
  )
  select array_agg(d.tenant_id), array_agg(d.definition), array_agg(d.fingerprint),
         array_agg(d.status), array_agg(date_trunc('hour', d.finished_at, 'UTC'))
    into v_tenants, v_definitions, v_fingerprints, v_statuses, v_hours
    from d where d.failures = -1;

  if v_tenants is not null then  -- the first or the newest failure of a group may have been deleted
    delete from plait.failure_hours h
      using unnest(v_tenants, v_definitions, v_fingerprints, v_statuses, v_hours)
        k(tenant_id, definition, fingerprint, status, hour)
      where (h.tenant_id, h.definition, h.fingerprint, h.status, h.hour)
            = (k.tenant_id, k.definition, k.fingerprint, k.status, k.hour)
        and h.failures = 0;
    delete from plait.failure_groups g
      using unnest(v_tenants, v_definitions, v_fingerprints, v_statuses)
        k(tenant_id, definition, fingerprint, status)
      where (g.tenant_id, g.definition, g.fingerprint, g.status)
            = (k.tenant_id, k.definition, k.fingerprint, k.status)
        and g.failures = 0;
    update plait.failure_groups g
      set first_at = x.first_at, last_at = x.last_at, last_job = x.last_job
      from (
        select distinct k.*
        from unnest(v_tenants, v_definitions, v_fingerprints, v_statuses)
          k(tenant_id, definition, fingerprint, status)) k
      cross join lateral (
        select l.finished_at as first_at from plait.failure_log l
        where l.tenant_id = k.tenant_id and l.definition = k.definition
          and l.fingerprint = k.fingerprint and l.status = k.status
        order by l.finished_at, l.job_id limit 1) f
      cross join lateral (
        select f.first_at, l.finished_at as last_at, l.job_id as last_job
        from plait.failure_log l
        where l.tenant_id = k.tenant_id and l.definition = k.definition
          and l.fingerprint = k.fingerprint and l.status = k.status
        order by l.finished_at desc, l.job_id desc limit 1) x
      where (g.tenant_id, g.definition, g.fingerprint, g.status)
            = (k.tenant_id, k.definition, k.fingerprint, k.status);
  end if;

  insert into plait.failures_counted as c (at) values (case when not o_more then v_now end)
    on conflict (one) do update set at = coalesce(excluded.at, c.at);
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
