-- failure_workers: the workers on which the newest failures with this error occurred.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.failures.list_workers, users
--
--   p_definition    name of the definition
--   p_fingerprint   fingerprint of the error (failures)
--   p_scan          maximum number of failures to read, 1 to 10,000
--
--   select host, failures from plait.failure_workers('send_mail', :'fingerprint');
--
-- Reads the newest p_scan failures. A row without a worker counts jobs that failed before a worker
-- claimed them or while they waited. all_failures: the number of failures read.
create or replace function plait.failure_workers(
  p_definition text, p_fingerprint text, p_tenant uuid default null, p_all boolean default false,
  p_scan int default 1000
) returns table (worker int, host text, failures bigint, last_at timestamptz, all_failures bigint)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_scan   int := least(greatest(p_scan, 1), 10000);
begin
  return query
    with counted as (
      select l.worker, l.finished_at, l.job_id
      from plait.failure_groups g
      cross join lateral (
        select l.worker, l.finished_at, l.job_id from plait.failure_log l
        where l.tenant_id = g.tenant_id and l.definition = g.definition
          and l.fingerprint = g.fingerprint and l.status = g.status
        order by l.finished_at desc, l.job_id desc limit v_scan) l
      where (v_tenant is null or g.tenant_id = v_tenant) and g.definition = p_definition
        and g.fingerprint = p_fingerprint
      union all
      select d.worker, d.finished_at, d.job_id
      from plait._failure_deltas(plait._uncounted_failures(v_tenant)) d
      where d.definition = p_definition and d.fingerprint = p_fingerprint and d.failures = 1
    ), newest as (
      select c.worker, c.finished_at from counted c
      order by c.finished_at desc, c.job_id desc limit v_scan
    )
    select n.worker, w.host, count(*), max(n.finished_at), (select count(*) from newest)
    from newest n
    left join plait.workers w on w.id = n.worker
    group by 1, 2 order by 3 desc, 4 desc, 1 limit 100;
end $$;
