-- list_dependencies: the jobs that a job waits for, in the given order, with status and result.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for another tenant; nothing for a job that does not exist
--   called   job_history, plait.store.nurseries.list_dependencies
--
-- A page begins after p_after, has at least one row, and ends when its results reach p_bytes.
-- p_last: return only the last dependency, whose result a chain passes on. Jobs that retention has
-- deleted are omitted.
create or replace function plait.list_dependencies(
  p_job uuid, p_tenant uuid default null, p_after int default -1, p_last boolean default false,
  p_bytes int default 8388608
) returns table (index int, job_id uuid, definition text, status text, result text, error text,
                 reason text, attempt int)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  for index, job_id, definition, status, result, error, reason, attempt in
    select u.n::int - 1, d.id, d.definition, coalesce(l.state, a.final)::text,
           case when l.job_id is null then a.result::text end, a.error, a.reason,
           coalesce(l.attempt, a.attempt)
    from plait.jobs j
    cross join unnest(j.after) with ordinality u(id, n)
    join plait.jobs d on d.id = u.id and d.tenant_id = j.tenant_id
    left join plait.live l on l.job_id = d.id
    left join lateral (
      select t.* from plait.attempts t where t.job_id = d.id order by t.attempt desc limit 1) a
      on true
    where j.id = p_job and j.tenant_id = v_tenant and u.n - 1 > p_after
      and (not p_last or u.n = cardinality(j.after))
    order by u.n
  loop
    return next;
    p_bytes := p_bytes - coalesce(octet_length(result), 0);
    exit when p_bytes <= 0;
  end loop;
end $$;
