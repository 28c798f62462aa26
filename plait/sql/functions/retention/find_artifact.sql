-- find_artifact: find an artifact of a job by its hash.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a foreign tenant; nothing if there is no such artifact
--   called   plait.store.artifacts.find_artifact
--
-- A caller that may read the job may read its artifacts. A fork can also read the artifacts of its
-- source job, and a part of a node job those of the node job, but not results. A worker must name
-- the tenant like every other caller; the claim returns it.
create or replace function plait.find_artifact(
  p_job uuid, p_sha256 text, p_kind text default null, p_tenant uuid default null,
  p_all boolean default false
) returns table (
  id uuid, tenant_id uuid, job_id uuid, kind text, size bigint, sha256 text, created_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    with recursive origin as (
      select j.id, j.tenant_id,
             coalesce(j.forked_from, case when j.node is not null then j.parent_id end) as from_id
      from plait.jobs j
      where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)
      union all
      select j.id, j.tenant_id,
             coalesce(j.forked_from, case when j.node is not null then j.parent_id end)
      from origin o
      join plait.jobs j on j.id = o.from_id and j.tenant_id = o.tenant_id
    )
    select a.id, a.tenant_id, a.job_id, a.kind, a.size, a.sha256, a.created_at
    from origin o
    join plait.artifacts a on a.job_id = o.id and a.tenant_id = o.tenant_id
    where a.sha256 = p_sha256 and (p_kind is null or a.kind = p_kind) and a.doomed_at is null
      and (o.id = p_job or a.kind <> 'result')
    limit 1;
end $$;
