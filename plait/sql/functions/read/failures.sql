-- failures: all jobs that have failed, by definition and error, from the leader's counts.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an unknown status or order, PL004 for a caller that may not read across
--            tenants
--   called   plait.store.failures.list_failures, users
--
--   p_from       only errors that occurred since this time. Default: all errors
--   p_statuses   `{failed}`, `{dead_letter}` or both. Default: both
--   p_order      `jobs` or `recent`: sort by this count, highest first
--
--   select definition, error, jobs, as_of from plait.failures();
--
-- jobs: the number of jobs whose status is failed or dead_letter now; jobs that were retried or
-- deleted since are not counted. recent: the number of failures since `since`, including failures
-- of jobs that were retried since. `since` is the start of p_from's hour; without p_from, of the
-- hour 24 hours ago. first_at, last_at, last_job: the first and last failure of all jobs that are
-- kept. Each row has the totals of all errors, including errors beyond p_limit. If there are no
-- errors, one row has only the totals. as_of: everything that was committed by then is counted;
-- null: nothing has been counted yet.
create or replace function plait.failures(
  p_tenant uuid default null, p_all boolean default false, p_from timestamptz default null,
  p_statuses text[] default null, p_limit int default 50, p_order text default 'jobs'
) returns table (
  definition text, fingerprint text, error text, jobs bigint, dead_letters bigint, recent bigint,
  tenants bigint, first_at timestamptz, last_at timestamptz, last_job uuid, since timestamptz,
  as_of timestamptz, all_errors bigint, all_jobs bigint
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_tenant    uuid := plait._tenant_or_all(p_tenant, p_all);
  v_since     timestamptz := date_trunc('hour', plait._clamp_time(
                               coalesce(p_from, plait.now() - interval '1 day')), 'UTC');
  v_uncounted uuid[] := plait._uncounted_failures(v_tenant);
  v_as_of     timestamptz := case when v_uncounted is not null then plait.now()
                                  else (select c.at from plait.failures_counted c) end;
begin
  if not p_statuses <@ '{failed,dead_letter}' then
    raise exception 'status must be failed or dead_letter' using errcode = 'PL001';
  end if;
  if p_order is null or p_order not in ('jobs', 'recent') then
    raise exception 'order must be jobs or recent, got %', coalesce(quote_literal(p_order), 'null')
      using errcode = 'PL001';
  end if;
  return query
    with counted as (
      select g.tenant_id, g.definition, g.fingerprint, g.status, g.jobs, g.first_at, g.last_at,
             g.last_job, h.recent
      from plait.failure_groups g
      cross join lateral (
        select coalesce(sum(h.failures), 0) as recent from plait.failure_hours h
        where h.tenant_id = g.tenant_id and h.definition = g.definition
          and h.fingerprint = g.fingerprint and h.status = g.status and h.hour >= v_since
          and g.last_at >= v_since) h
      where v_tenant is null or g.tenant_id = v_tenant
      union all
      select d.tenant_id, d.definition, d.fingerprint, d.status, sum(d.jobs),
             min(d.finished_at) filter (where d.failures = 1),
             max(d.finished_at) filter (where d.failures = 1),
             (array_agg(d.job_id order by d.finished_at desc, d.job_id desc)
               filter (where d.failures = 1))[1],
             coalesce(sum(d.failures) filter (where d.finished_at >= v_since), 0)
      from plait._failure_deltas(v_uncounted) d group by 1, 2, 3, 4
    ), by_tenant as (
      select c.definition, c.fingerprint, sum(c.jobs) as jobs,
             coalesce(sum(c.jobs) filter (where c.status = 'dead_letter'), 0) as dead_letters,
             sum(c.recent) as recent, min(c.first_at) as first_at, max(c.last_at) as last_at,
             (array_agg(c.last_job order by c.last_at desc nulls last, c.last_job desc))[1]
               as last_job
      from counted c where p_statuses is null or c.status::text = any(p_statuses)
      group by c.tenant_id, 1, 2
    ), by_error as (
      select t.definition, t.fingerprint, sum(t.jobs)::bigint as jobs,
             sum(t.dead_letters)::bigint as dead_letters, sum(t.recent)::bigint as recent,
             count(*) filter (where t.jobs > 0) as tenants, min(t.first_at) as first_at,
             max(t.last_at) as last_at,
             (array_agg(t.last_job order by t.last_at desc nulls last, t.last_job desc))[1]
               as last_job
      from by_tenant t group by 1, 2
      having sum(t.jobs) > 0 and (p_from is null or max(t.last_at) >= p_from)
    ), totals as (
      select count(*) as all_errors, coalesce(sum(e.jobs), 0)::bigint as all_jobs from by_error e
    ), listed as (
      select e.* from by_error e
      order by case p_order when 'jobs' then e.jobs else e.recent end desc, e.last_at desc,
               e.definition, e.fingerprint
      limit plait._page_size(p_limit)
    )
    select l.definition, l.fingerprint, left(a.error, 1000), l.jobs, l.dead_letters, l.recent,
           l.tenants, l.first_at, l.last_at, l.last_job, v_since, v_as_of, t.all_errors, t.all_jobs
    from totals t
    left join listed l on true
    left join lateral (
      select a.error from plait.attempts a
      where a.job_id = l.last_job and a.finished_at = l.last_at
        and a.final in ('failed', 'dead_letter')
      order by a.attempt desc limit 1) a on true
    where p_limit is distinct from 0
    order by case p_order when 'jobs' then l.jobs else l.recent end desc, l.last_at desc,
             l.definition, l.fingerprint;
end $$;
