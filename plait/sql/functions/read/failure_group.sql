-- failure_group: one error of a definition, by tenant and status, from the leader's counts.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants; nothing if there is no such error
--   called   plait.store.failures.get_group, users
--
--   p_definition    name of the definition
--   p_fingerprint   fingerprint of the error (failures)
--
--   select tenant, status, jobs from plait.failure_group('send_mail', :'fingerprint');
--
-- The columns are the same as in plait.failures(). failures: the number of failures of all jobs
-- that are kept, including jobs that were retried since.
create or replace function plait.failure_group(
  p_definition text, p_fingerprint text, p_tenant uuid default null, p_all boolean default false
) returns table (
  tenant_id uuid, tenant text, status text, jobs bigint, failures bigint, first_at timestamptz,
  last_at timestamptz, last_job uuid, as_of timestamptz
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_tenant    uuid := plait._tenant_or_all(p_tenant, p_all);
  v_uncounted uuid[] := plait._uncounted_failures(v_tenant);
  v_as_of     timestamptz := case when v_uncounted is not null then plait.now()
                                  else (select c.at from plait.failures_counted c) end;
begin
  return query
    with counted as (
      select g.tenant_id, g.status, g.jobs, g.failures, g.first_at, g.last_at, g.last_job
      from plait.failure_groups g
      where (v_tenant is null or g.tenant_id = v_tenant) and g.definition = p_definition
        and g.fingerprint = p_fingerprint
      union all
      select d.tenant_id, d.status, sum(d.jobs), sum(d.failures),
             min(d.finished_at) filter (where d.failures = 1),
             max(d.finished_at) filter (where d.failures = 1),
             (array_agg(d.job_id order by d.finished_at desc, d.job_id desc)
               filter (where d.failures = 1))[1]
      from plait._failure_deltas(v_uncounted) d
      where d.definition = p_definition and d.fingerprint = p_fingerprint group by 1, 2
    )
    select c.tenant_id, t.slug::text, c.status::text, sum(c.jobs)::bigint,
           sum(c.failures)::bigint, min(c.first_at), max(c.last_at),
           (array_agg(c.last_job order by c.last_at desc nulls last, c.last_job desc))[1], v_as_of
    from counted c
    join plait.tenants t on t.id = c.tenant_id
    group by c.tenant_id, t.slug, c.status having sum(c.failures) > 0
    order by 4 desc, 2, 3;
end $$;
