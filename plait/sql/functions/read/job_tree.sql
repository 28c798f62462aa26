-- job_tree: all jobs of a workflow, in pages: the root first, then by fan-out and index.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.job_tree, users
--
--   p_job             any job of the workflow
--   p_after_fan_out   cursor: fan_out_id of the last row of the previous page
--   p_after_index     cursor: fan_out_index of that row
--   p_limit           maximum number of rows, up to 10,000
--
--   select depth, definition, status from plait.job_tree(:'job');
--
-- attempt: attempts used. own_s: how long the job's handler ran, in all attempts. total_s: from the
-- job's first start to its end, including its children.
create or replace function plait.job_tree(
  p_job uuid, p_tenant uuid default null, p_all boolean default false,
  p_after_fan_out uuid default null, p_after_index int default null, p_limit int default 10000
) returns table (
  id uuid, parent_id uuid, fan_out_id uuid, fan_out_index int, depth int, definition text,
  queue text, status text, attempt int, wait_on text, error text, created_at timestamptz,
  finished_at timestamptz, own_s float8, total_s float8, node text)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_root   uuid;
begin
  select coalesce(j.root_id, j.id) into v_root
  from plait.jobs j
  where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select j.id, j.parent_id, j.fan_out_id, j.fan_out_index, coalesce(j.depth, 0)::int,
           j.definition, j.queue, coalesce(l.state, a.final)::text,
           plait._attempts_used(j.id, l.attempt, a.last), l.wait_on,
           case when l.job_id is null and a.final <> 'succeeded' then
                  coalesce(a.error, a.reason) end,
           j.created_at, case when l.job_id is null then a.finished_at end, d.own_s,
           case when l.job_id is null then extract(epoch from a.finished_at - d.began)::float8 end,
           j.node
    from (
      (select r.* from plait.jobs r where r.id = v_root and p_after_fan_out is null)
      union all (select t.*
                 from plait.jobs t
                 where t.root_id = v_root
                   and (t.fan_out_id, t.fan_out_index) > (
                     coalesce(p_after_fan_out, '00000000-0000-0000-0000-000000000000'),
                     coalesce(p_after_index, -1))
                 order by t.fan_out_id, t.fan_out_index limit plait._page_size(p_limit, 10000))
    ) j
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.*, t as last
                       from plait.attempts t
                       where t.job_id = j.id
                       order by t.attempt desc limit 1) a on true
    left join lateral (
      select sum(extract(epoch from t.finished_at - t.started_at))::float8 as own_s,
             min(t.started_at) as began
      from plait.attempts t
      where t.job_id = j.id and t.started_at is not null) d on true
    order by j.fan_out_id nulls first, j.fan_out_index
    limit plait._page_size(p_limit, 10000);
end $$;
