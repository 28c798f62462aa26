-- list_children: the children of one fan-out in order, with their attempts, for a timeline.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job, PL001 for an unknown order
--   called   plait.store.statistics.list_children, users
--
--   p_fan_out   one of the job's fan-outs. Default: its first
--   p_start     first index to return; in another order, how many children to skip
--   p_sort      index, duration, wait or status. Default: index
--   p_descending   from the longest duration or wait, or from the last status or index
--
--   select id, status, run_s
--   from plait.list_children(:'job', p_sort => 'duration', p_descending => true, p_limit => 10);
--
-- run_at: if the child is not final, when it is due, or since when it has been in its state.
-- fan_outs: the number of its own fan-outs, without empty ones. attempt: attempts used. attempts:
-- the last hundred, as JSON. An attempt that never ran (canceled, or an operator's retry) has no
-- claimed_at. wait_s: from when the child was due until its first start, or until now; null if it
-- ended without a start. run_s: from its first start to its end, or until now. steps: whether it
-- has steps that run or wait in the job itself. The order is that of all children, up to 100,000; a
-- child without a duration or wait comes last. Children that are equal are in the order of their
-- indexes.
create or replace function plait.list_children(
  p_job uuid, p_fan_out uuid default null, p_tenant uuid default null, p_all boolean default false,
  p_start int default 0, p_limit int default 100, p_sort text default 'index',
  p_descending boolean default false
) returns table (id uuid, fan_out_index int, definition text, queue text, status text, attempt int,
                 created_at timestamptz, run_at timestamptz, finished_at timestamptz, wait_on text,
                 node text, error text, fan_outs int, attempts text, steps boolean,
                 wait_s float8, run_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_root    uuid;
  v_fan_out uuid;
  v_limit   int := plait._page_size(p_limit);
  v_paged   boolean := p_sort = 'index' and not p_descending;  -- reads only this page
begin
  if p_sort is null or p_sort not in ('index', 'duration', 'wait', 'status') then
    raise exception 'sort must be index, duration, wait or status, got %', p_sort
      using errcode = 'PL001';
  end if;
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
    with page as materialized (
      select t.id, t.wait_s, t.run_s,
             row_number() over (order by case when p_descending then - k.key
                                              else k.key end nulls last, t.fan_out_index) as n
      from plait._child_times(
             v_root, v_fan_out, case when v_paged then p_start else 0 end,
             case when v_paged then v_limit else 100000 end) t
      cross join lateral (
        select case p_sort when 'duration' then t.run_s
                           when 'wait' then t.wait_s
                           when 'status' then t.rank
                           else t.fan_out_index end as key) k
      order by n
      offset case when v_paged then 0 else greatest(p_start, 0) end limit v_limit
    )
    select j.id, j.fan_out_index, j.definition, j.queue, coalesce(l.state, a.final)::text,
           plait._attempts_used(j.id, l.attempt, a.last), j.created_at, l.run_at,
           case when l.job_id is null then a.finished_at end, l.wait_on, j.node,
           case when l.job_id is null and a.final <> 'succeeded' then
                  left(coalesce(a.error, a.reason), 500) end,
           (select count(*)::int from plait.fan_outs f where f.parent_id = j.id and f.total > 0),
           coalesce(s.attempts, '[]'),
           exists (select from plait.steps p
                   where p.job_id = j.id and p.kind in ('call', 'transaction', 'sleep', 'signal')),
           i.wait_s, i.run_s
    from page i
    join plait.jobs j on j.id = i.id
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
    order by i.n;
end $$;
