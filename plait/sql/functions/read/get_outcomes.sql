-- get_outcomes: the outcomes of the given jobs that are final, for handles that wait.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a foreign tenant; nothing for jobs that do not exist: they are returned with
--            status null
--   called   plait.store.jobs.get_outcomes
create or replace function plait.get_outcomes(p_jobs uuid[], p_tenants uuid[])
returns table (job_id uuid, status text, result text, reason text, error text, traceback text,
               attempt int, failure text)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare v_tenants uuid[];
begin
  -- This check is separate from the lookup. A join would reject a foreign tenant only if the job
  -- exists, which would reveal that it exists.
  select array_agg(plait._tenant(u.tenant_id) order by u.n) into v_tenants
    from unnest(p_jobs, p_tenants) with ordinality u(id, tenant_id, n);
  return query
    select x.id, a.final::text, a.result::text, a.reason, a.error, a.traceback, a.attempt,
           a.failure::text
    from unnest(p_jobs, v_tenants) x(id, tenant_id)
    left join plait.jobs j on j.id = x.id and j.tenant_id = x.tenant_id
    left join lateral (
      select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
      on true
    where j.id is null
      or (a.final is not null and not exists (select from plait.live l where l.job_id = x.id));
end $$;
