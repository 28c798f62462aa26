-- list_jobs: newest first, by cursor (ids sort by time, and no two are equal, so no row is skipped or shown twice).
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an unknown status
--   called   plait.store.jobs.list_jobs
--
-- The children of a parent, a root or a fan-out are found by their tree. Rare statuses are found from where they are few: live rows, or the index of failures. Everything else walks the newest jobs.
create or replace function plait.list_jobs(
  p_tenant uuid default null, p_all boolean default false, p_statuses text[] default null, p_queue text default null,
  p_definition text default null, p_correlation_id text default null, p_before uuid default null, p_limit int default 50,
  p_parent uuid default null, p_root uuid default null, p_fan_out uuid default null, p_has_children boolean default null
) returns setof plait.job
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off set enable_mergejoin = off as $$
declare
  v_tenant   uuid := plait._tenant_or_all(p_tenant, p_all);
  v_statuses plait.status[];
  v_before   uuid := coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  v_limit    int := least(greatest(p_limit, 1), 1000);
  v_tree     uuid;
begin
  begin
    v_statuses := p_statuses::plait.status[];
  exception when invalid_text_representation then
    raise exception 'a status is one of %', array_to_string(enum_range(null::plait.status), ', ') using errcode = 'PL001';
  end;

  if p_parent is not null or p_root is not null or p_fan_out is not null then
    v_tree := coalesce(p_root, (select f.root_id from plait.fan_outs f where f.id = p_fan_out),
                       (select coalesce(j.root_id, j.id) from plait.jobs j where j.id = p_parent));
    return query
      select v.* from (
        select j.id from plait.jobs j
        where j.root_id = v_tree and (v_tenant is null or j.tenant_id = v_tenant) and j.id < v_before
          and (p_parent is null or j.parent_id = p_parent) and (p_fan_out is null or j.fan_out_id = p_fan_out)
          and (p_queue is null or j.queue = p_queue) and (p_definition is null or j.definition = p_definition)
          and (p_correlation_id is null or j.correlation_id = p_correlation_id)
          and (p_has_children is null or exists (select from plait.fan_outs f where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
        order by j.id desc) s
      cross join lateral (select w.* from plait.job w where w.id = s.id) v
      where v_statuses is null or v.status = any(v_statuses)
      order by s.id desc limit v_limit;
  elsif v_statuses <@ '{running,scheduled,waiting}' then
    return query
      select j.* from (
        select l.job_id from plait.live l
        where l.state = any(v_statuses) and l.state <> 'queued' and (v_tenant is null or l.tenant_id = v_tenant)
          and l.job_id < v_before and (p_queue is null or l.queue = p_queue) and (p_definition is null or l.definition = p_definition)
        order by l.job_id desc) s
      cross join lateral (select v.* from plait.job v where v.id = s.job_id) j
      where (p_correlation_id is null or j.correlation_id = p_correlation_id)
        and (p_has_children is null or exists (select from plait.fan_outs f where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
      order by s.job_id desc limit v_limit;
  elsif v_statuses <@ '{failed,dead_letter}' then
    return query
      select j.* from (
        select distinct a.tenant_id, a.job_id from plait.attempts a
        where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant) and a.job_id < v_before) s
      cross join lateral (select v.* from plait.job v where v.id = s.job_id) j
      where j.status = any(v_statuses) and (p_queue is null or j.queue = p_queue)
        and (p_definition is null or j.definition = p_definition) and (p_correlation_id is null or j.correlation_id = p_correlation_id)
        and (p_has_children is null or exists (select from plait.fan_outs f where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
      order by s.job_id desc limit v_limit;
  else
    return query
      select v.* from (
        select j.id from plait.jobs j
        where (v_tenant is null or j.tenant_id = v_tenant) and j.id < v_before and (p_queue is null or j.queue = p_queue)
          and (p_definition is null or j.definition = p_definition) and (p_correlation_id is null or j.correlation_id = p_correlation_id)
          and (p_has_children is null or exists (select from plait.fan_outs f where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
        order by j.id desc) s
      cross join lateral (select w.* from plait.job w where w.id = s.id) v
      where v_statuses is null or v.status = any(v_statuses)
      order by s.id desc limit v_limit;
  end if;
end $$;
