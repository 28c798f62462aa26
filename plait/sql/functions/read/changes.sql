-- changes: the change feed: jobs, fan-outs and output that changed since a point in time.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.changes.changes
--
-- One call serves all viewers, and NOTIFY is not needed (T109). It reads new rows where they are
-- stored together: the newest ids, the running rows, and the end of the log of attempts, which a
-- BRIN index finds. Jobs that became queued (promoted, resumed) are read from the ends of the
-- queues, for the first 500 (queue, tenant, priority) that a skip over the index finds. A job is
-- returned once, in its current state. If the time ranges of calls overlap a little, and the caller
-- drops duplicates, no late commit is missed.
-- A job with new log lines is found in the latest 20,000 of them.
-- p_tenants: null means all. One row of kind `more`: there were more than p_limit changes, and the
-- caller should read everything again.
create or replace function plait.changes(
  p_tenants uuid[], p_since timestamptz, p_limit int default 2000
) returns table (kind text, tenant_id uuid, id uuid, detail text)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  c_lines constant int := 20000;
  v_jobs uuid[];
  -- clock: ids come from the real clock
  v_new  uuid := plait._uuid_floor(
    greatest(p_since + (clock_timestamp() - plait.now()) - interval '5 s', 'epoch'));
begin
  v_jobs := array(
              select j.id
              from plait.jobs j
              where j.id >= v_new and j.created_at >= p_since
                and (p_tenants is null or j.tenant_id = any(p_tenants))
              order by j.id desc limit p_limit + 1)
    || array(
      select l.job_id
      from plait.live l
      where l.state = 'running' and l.run_at >= p_since
        and (p_tenants is null or l.tenant_id = any(p_tenants))
      limit p_limit + 1)
    || array(
      select a.job_id
      from plait.attempts a
      where a.finished_at >= p_since and (p_tenants is null or a.tenant_id = any(p_tenants))
      limit p_limit + 1)
    || array(
      with recursive heads(queue, tenant_id, priority, n) as (
        (select l.queue, l.tenant_id, l.priority, 1
         from plait.live l
         where l.state = 'queued' and l.lane = ''
         order by l.queue, l.tenant_id, l.priority limit 1)
        union all
        select y.queue, y.tenant_id, y.priority, h.n + 1
        from heads h
        cross join lateral (
          select l.queue, l.tenant_id, l.priority
          from plait.live l
          where l.state = 'queued' and l.lane = ''
            and (l.queue, l.tenant_id, l.priority) > (h.queue, h.tenant_id, h.priority)
          order by l.queue, l.tenant_id, l.priority limit 1) y
        where h.n < 500
      )
      select l.job_id
      from heads h
      cross join lateral (
        select l.job_id
        from plait.live l
        where l.state = 'queued' and l.lane = '' and l.queue = h.queue and l.tenant_id = h.tenant_id
          and l.priority = h.priority and l.run_at >= p_since
        limit p_limit + 1) l
      where p_tenants is null or h.tenant_id = any(p_tenants) limit p_limit + 1)
    || array(
      with recursive heads(queue, lane, tenant_id, priority, n) as (
        (select l.queue, l.lane, l.tenant_id, l.priority, 1
         from plait.live l
         where l.state = 'queued' and l.lane <> ''
         order by l.queue, l.lane, l.tenant_id, l.priority limit 1)
        union all
        select y.queue, y.lane, y.tenant_id, y.priority, h.n + 1
        from heads h
        cross join lateral (
          select l.queue, l.lane, l.tenant_id, l.priority
          from plait.live l
          where l.state = 'queued' and l.lane <> ''
            and (l.queue, l.lane, l.tenant_id, l.priority) > (
              h.queue, h.lane, h.tenant_id, h.priority)
          order by l.queue, l.lane, l.tenant_id, l.priority limit 1) y
        where h.n < 500
      )
      select l.job_id
      from heads h
      cross join lateral (
        select l.job_id
        from plait.live l
        where l.state = 'queued' and l.lane <> '' and l.queue = h.queue and l.lane = h.lane
          and l.tenant_id = h.tenant_id and l.priority = h.priority and l.run_at >= p_since
        limit p_limit + 1) l
      where p_tenants is null or h.tenant_id = any(p_tenants) limit p_limit + 1);
  v_jobs := array(select distinct u from unnest(v_jobs) u);
  if cardinality(v_jobs) > p_limit then
    return query select 'more', null::uuid, null::uuid, '{}';
    return;
  end if;
  return query
    select 'job', j.tenant_id, j.id,
           json_build_object(
             'status', coalesce(l.state, a.final), 'attempt', coalesce(l.attempt, a.attempt),
             'attempt_count', plait._attempts_used(j.id, l.attempt, a.last),
             'definition_key', j.definition, 'queue', j.queue,
             'parent_id', j.parent_id, 'root_id', j.root_id, 'fan_out_id', j.fan_out_id)::text
    from plait.jobs j
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.*, t as last
                       from plait.attempts t
                       where t.job_id = j.id
                       order by t.attempt desc limit 1) a on true
    where j.id = any(v_jobs);
  return query
    select 'fan_out', f.tenant_id, f.id,
           json_build_object(
             'parent_id', f.parent_id, 'root_id', f.root_id, 'total', f.total,
             'succeeded', f.succeeded, 'failed', f.failed, 'canceled', f.canceled,
             'decision', f.decision)::text
    from plait.fan_outs f
    where f.id in (select j.fan_out_id
                   from plait.jobs j
                   where j.id = any(v_jobs) and j.fan_out_id is not null)
      or f.parent_id = any(v_jobs);
  return query
    select 'log', r.tenant_id, r.job_id,
           json_build_object(
             'attempt', r.attempt,
             'progress',
               case
                 when octet_length(r.progress::text) <= 8192 then r.progress
                 when json_typeof(r.progress) = 'object' then
                   json_build_object(
                     'stdout', right(r.progress ->> 'stdout', 4096),
                     'stderr', right(r.progress ->> 'stderr', 4096)) end)::text
    from plait.running_state r
    where r.updated_at >= p_since and (p_tenants is null or r.tenant_id = any(p_tenants))
    limit p_limit;
  return query
    select distinct on (g.job_id) 'log_line', g.tenant_id, g.job_id,
           json_build_object('attempt', g.attempt, 'line', g.line)::text
    from (
      select t.tenant_id, t.job_id, t.attempt, t.line
      from plait.log_lines t
      where t.stored_at >= p_since and (p_tenants is null or t.tenant_id = any(p_tenants))
      order by t.stored_at desc limit c_lines) g
    order by g.job_id, g.attempt desc, g.line desc limit p_limit;
end $$;
