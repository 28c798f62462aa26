-- list_children: the children of a fan-out, from an index on, with their attempts, for a timeline.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.statistics.list_children, users
--
--   p_fan_out   one of the job's fan-outs. Default: its first
--   p_start     first index to return
--
--   select id, status from plait.list_children(:'job');
--
-- run_at: for a live child, when it is due or when it entered its current state. fan_outs: the
-- number of fan-outs of the child. attempt: attempts used. attempts: the last 100 attempts, as
-- JSON. An attempt that never ran (canceled, or an operator's retry) has no claimed_at.
create or replace function plait.list_children(
  p_job uuid, p_fan_out uuid default null, p_tenant uuid default null, p_all boolean default false,
  p_start int default 0, p_limit int default 100
) returns table (id uuid, fan_out_index int, definition text, queue text, status text, attempt int,
                 created_at timestamptz, run_at timestamptz, finished_at timestamptz, wait_on text,
                 node text, error text, fan_outs int, attempts text)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_root    uuid;
  v_fan_out uuid;
begin
  select coalesce(j.root_id, j.id) into v_root
  from plait.jobs j
  where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select f.id into v_fan_out
  from plait.fan_outs f
  where f.parent_id = p_job and (p_fan_out is null or f.id = p_fan_out)
  order by f.created_at, f.id limit 1;
  return query
    select j.id, j.fan_out_index, j.definition, j.queue, coalesce(l.state, a.final)::text,
           plait._attempts_used(j.id, l.attempt, a.last), j.created_at, l.run_at,
           case when l.job_id is null then a.finished_at end, l.wait_on, j.node,
           case when l.job_id is null and a.final <> 'succeeded' then
                  left(coalesce(a.error, a.reason), 500) end,
           (select count(*)::int from plait.fan_outs f where f.parent_id = j.id),
           coalesce(s.attempts, '[]')
    from (
      select t.* from plait.jobs t
      where t.root_id = v_root and t.fan_out_id = v_fan_out and t.fan_out_index >= p_start
      order by t.fan_out_index limit plait._page_size(p_limit)
    ) j
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.*, t as last
                       from plait.attempts t
                       where t.job_id = j.id
                       order by t.attempt desc limit 1) a on true
    left join lateral (
      select json_agg(
        json_build_object(
          'attempt_no', t.attempt, 'status', t.status, 'worker_id', t.worker,
          'claimed_at', t.claimed_at, 'started_at', t.started_at, 'finished_at', t.finished_at)
        order by t.attempt)::text as attempts
      from (
        select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 100) t) s
      on true
    order by j.fan_out_index;
end $$;
