-- failures: the most frequent failures, by definition and error, since a point in time.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an unknown status, PL004 for a caller that may not read across tenants
--   called   plait.store.statistics.failures, users
--
--   p_from       since when. Default: a day ago
--   p_statuses   `{failed}`, `{dead_letter}` or both. Default: both
--
--   select definition, error, jobs from plait.failures();
--
-- At most the newest 2,000 failures are read (T113); for all tenants, an equal share of each. A job
-- that was retried since is not counted.
create or replace function plait.failures(
  p_tenant uuid default null, p_all boolean default false, p_from timestamptz default null,
  p_statuses text[] default null, p_limit int default 50
) returns table (definition text, fingerprint text, error text, jobs bigint, first_at timestamptz,
                 last_at timestamptz, last_job uuid, dead_letters bigint)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from    timestamptz := coalesce(p_from, plait.now() - interval '1 day');
  v_tenants bigint :=
    case when v_tenant is null then (select count(*) from plait.tenants) else 1 end;
begin
  if not p_statuses <@ '{failed,dead_letter}' then
    raise exception 'status must be failed or dead_letter' using errcode = 'PL001';
  end if;
  return query
    with newest as (
      select a.*
      from plait.tenants t
      cross join lateral (
        select a.job_id, a.final, a.error, a.finished_at
        from plait.attempts a
        where a.tenant_id = t.id and a.final in ('failed', 'dead_letter')
          and (p_statuses is null or a.final::text = any(p_statuses))
          and not exists (select from plait.attempts b
                          where b.job_id = a.job_id and b.attempt > a.attempt)
          and not exists (select from plait.live l where l.job_id = a.job_id)
        order by a.job_id desc limit greatest(20, 2000 / v_tenants)) a
      where (v_tenant is null or t.id = v_tenant) and a.finished_at >= v_from limit 2000
    )
    select j.definition, plait._fingerprint(n.error),
           (array_agg(left(n.error, 1000) order by n.finished_at desc))[1], count(*),
           min(n.finished_at), max(n.finished_at),
           (array_agg(n.job_id order by n.finished_at desc))[1],
           count(*) filter (where n.final = 'dead_letter')
    from newest n
    join plait.jobs j on j.id = n.job_id
    group by 1, 2
    order by 4 desc, 6 desc limit plait._page_size(p_limit);
end $$;
