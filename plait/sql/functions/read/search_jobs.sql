-- search_jobs: jobs by any filter, newest first, reading a bounded number of rows.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an unknown status, a negative limit or a payload that is not an object,
--            PL004 for a caller that may not read across tenants
--   called   list_jobs, plait.store.jobs.count_jobs, plait.store.jobs.list_jobs, users
--
--   p_statuses         only jobs with one of these statuses
--   p_queue            only jobs of this queue
--   p_definition       only jobs of this definition
--   p_correlation_id   only jobs with this correlation id
--   p_parent           only children of this job
--   p_root             only descendants of this root job
--   p_fan_out          only children of this fan-out
--   p_has_children     true: only jobs with children; false: only jobs without children
--   p_source           only jobs with this source: `manual`, `event`, `schedule` or `system`
--   p_worker           only jobs that this worker runs, or whose last attempt it ran
--   p_created_after    only jobs that were created after this time
--   p_created_before   only jobs that were created before this time
--   p_search           only jobs with this text in their definition, correlation id or dedupe key,
--                      or with this id
--   p_payload          only jobs whose payload has these keys and values
--   p_offset           rows to skip
--   p_scan             maximum number of rows to read, 100 to 100,000
--   p_error            only failed jobs whose error has this fingerprint (failures)
--
--   select (job).id, (job).status, stopped
--     from plait.search_jobs(p_definition => 'send_mail', p_payload => '{"to": "a@b.example"}');
--
-- To read the next page, pass the last id as p_before: no row is skipped or shown twice (T112). A
-- search that no index supports reads the newest rows, at most p_scan of them (fewer if it must
-- read the payload or status of each row). If it stops at that limit, the last row has no job but
-- `stopped`: pass that as p_before to continue. Fast filters: a workflow, a correlation id, a
-- search key that the definition declares, unfinished jobs, failed jobs. A search key's index
-- contains only jobs that were created after the key was declared; earlier jobs are found by
-- reading rows.
create or replace function plait.search_jobs(
  p_tenant uuid default null, p_all boolean default false, p_statuses text[] default null,
  p_queue text default null, p_definition text default null, p_source text default null,
  p_worker int default null, p_correlation_id text default null, p_parent uuid default null,
  p_root uuid default null, p_fan_out uuid default null, p_has_children boolean default null,
  p_created_after timestamptz default null, p_created_before timestamptz default null,
  p_search text default null, p_payload json default null, p_before uuid default null,
  p_limit int default 50, p_offset int default 0, p_scan int default 10000,
  p_error text default null
) returns table (job plait.job, stopped uuid)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant   uuid := plait._tenant_or_all(p_tenant, p_all);
  v_statuses plait.status[];
  v_before   uuid := coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  v_after    uuid := '00000000-0000-0000-0000-000000000000';
  v_limit    int := plait._page_size(p_limit);
  v_scan     int := least(greatest(p_scan, 100), 100000);
  v_like     text := '%' || replace(replace(replace(p_search, '\', '\\'), '%', '\%'), '_', '\_')
    || '%';
  v_shift    interval := clock_timestamp() - plait.now();  -- clock: zero, except in tests
  v_way      text;
  v_tree     uuid;
  v_groups   uuid[];
  v_stop     uuid;
  v_n        int;
  v_key      text;
  v_value    text;
  v_from     uuid;
  v_tenants  uuid[];
  v_new      uuid[];
begin
  begin
    v_statuses := p_statuses::plait.status[];
  exception when invalid_text_representation then
    raise exception 'status must be one of %', array_to_string(enum_range(null::plait.status), ', ')
      using errcode = 'PL001';
  end;
  if json_typeof(p_payload) <> 'object' then
    raise exception 'payload must be a JSON object of keys and their values, got %',
      json_typeof(p_payload) using errcode = 'PL001';
  end if;
  if p_error is not null and v_statuses is null then
    v_statuses := '{failed,dead_letter}';
  end if;
  -- Ids come from the real clock and may differ from the row's time by up to a day.
  if p_created_before is not null then
    v_before := least(
      v_before,
      plait._uuid_floor(
        greatest(plait._clamp_time(p_created_before) + v_shift + interval '1 day', 'epoch')));
  end if;
  if p_created_after is not null then
    v_after := plait._uuid_floor(
      greatest(plait._clamp_time(p_created_after) + v_shift - interval '1 day', 'epoch'));
  end if;

  if p_payload is not null and p_definition is not null and v_tenant is not null then
    select w.key, left(w.value, 200), d.search_from into v_key, v_value, v_from
      from plait.definitions d, json_each_text(p_payload) w
      where d.name = p_definition and w.key = any(d.search_keys) order by w.key limit 1;
  end if;

  if p_parent is not null or p_root is not null or p_fan_out is not null then
    v_way := 'tree';
    v_tree := coalesce(p_root, (select f.root_id from plait.fan_outs f where f.id = p_fan_out),
                       (select coalesce(j.root_id, j.id) from plait.jobs j where j.id = p_parent));
    v_groups := case when p_fan_out is not null then array[p_fan_out]
                     when p_parent is not null then
                       array(select f.id from plait.fan_outs f where f.parent_id = p_parent) end;
    -- `offset 0`: use the workflow's index instead of scanning all ids until enough are found.
    select s.id into v_stop
    from (
      select j.id
      from plait.jobs j
      where j.root_id = v_tree and (v_groups is null or j.fan_out_id = any(v_groups)) offset 0) s
    where s.id < v_before and s.id > v_after
    order by s.id desc offset v_scan limit 1;
  elsif p_correlation_id is not null and v_tenant is not null then
    v_way := 'correlation';
  elsif v_from < v_before then
    v_way := 'value';
    select s.job_id into v_stop
    from plait.search_values s
    where s.tenant_id = v_tenant and s.definition = p_definition and s.key = v_key
      and s.value = v_value and s.job_id < v_before and s.job_id >= greatest(v_after, v_from)
    order by s.job_id desc offset v_scan / 5 limit 1;
    if v_stop is null
       and exists (
         select from plait.jobs j
         where j.tenant_id = v_tenant and j.id >= v_after and j.id < v_from limit 1) then
      v_stop := v_from;
    end if;
  elsif v_statuses <@ '{scheduled,queued,running,waiting}' then
    v_way := 'live';
    if v_statuses <> '{running}' then
      select l.job_id into v_stop from plait.live l where l.job_id < v_before and l.job_id > v_after
        order by l.job_id desc offset v_scan limit 1;
    end if;
  elsif p_error is not null and v_statuses <@ '{failed,dead_letter}'
        and plait._uncounted_failures(v_tenant) is not null then
    v_way := 'error';
    v_new := plait._uncounted_failures(v_tenant);
    v_tenants := case when v_tenant is not null then array[v_tenant] else array(
      select distinct g.tenant_id from plait.failure_groups g where g.fingerprint = p_error) end;
    select s.job_id into v_stop
    from unnest(v_tenants) t
    cross join lateral (
      select l.job_id
      from plait.failure_log l
      where l.tenant_id = t and l.fingerprint = p_error and l.current
        and l.job_id < v_before and l.job_id > v_after
      order by l.job_id desc offset greatest(v_scan / 5 / greatest(cardinality(v_tenants), 1), 100)
      limit 1) s
    order by s.job_id desc limit 1;
  elsif v_statuses <@ '{failed,dead_letter}' and v_tenant is not null then
    v_way := 'failed';
    select a.job_id into v_stop
    from plait.attempts a
    where a.final in ('failed', 'dead_letter') and a.tenant_id = v_tenant
      and a.job_id < v_before and a.job_id > v_after
    order by a.job_id desc offset v_scan / 5 limit 1;
  elsif v_statuses <@ '{canceled,skipped}' and v_tenant is not null then
    v_way := 'canceled';
    select a.job_id into v_stop
    from plait.attempts a
    where a.final in ('canceled', 'skipped') and a.tenant_id = v_tenant
      and a.job_id < v_before and a.job_id > v_after
    order by a.job_id desc offset v_scan / 5 limit 1;
  else
    v_way := 'newest';
    v_scan := v_scan / case when v_statuses is not null or p_worker is not null
                                 or p_has_children is not null then 10
                            when p_payload is not null then 4
                            else 1 end;
    if v_tenant is null then
      select j.id into v_stop
      from plait.jobs j
      where j.id < v_before and j.id > v_after
      order by j.id desc offset v_scan limit 1;
    else
      select j.id into v_stop
      from plait.jobs j
      where j.tenant_id = v_tenant and j.id < v_before and j.id > v_after
      order by j.id desc offset v_scan limit 1;
    end if;
  end if;
  v_stop := greatest(v_stop, v_after);   -- the row where the search ended is included

  return query
    with candidates as (
      select s.id
      from (
        select j.id
        from plait.jobs j
        where v_way = 'tree' and j.root_id = v_tree
          and (v_groups is null or j.fan_out_id = any(v_groups))
          and (v_tenant is null or j.tenant_id = v_tenant)
        offset 0) s
      where s.id < v_before and s.id >= coalesce(v_stop, v_after)
      union all
      select j.id
      from plait.jobs j
      where v_way = 'correlation' and j.tenant_id = v_tenant and j.correlation_id = p_correlation_id
        and j.id < v_before and j.id > v_after
      union all
      select s.job_id
      from plait.search_values s
      where v_way = 'value' and s.tenant_id = v_tenant and s.definition = p_definition
        and s.key = v_key and s.value = v_value and s.job_id < v_before
        and s.job_id >= coalesce(v_stop, v_after)
      union all
      select l.job_id
      from plait.live l
      where v_way = 'live' and v_statuses <> '{running}'
        and (v_tenant is null or l.tenant_id = v_tenant) and l.state = any(v_statuses)
        and l.job_id < v_before and l.job_id >= coalesce(v_stop, v_after)
      union all
      select l.job_id
      from plait.live l
      where v_way = 'live' and v_statuses = '{running}' and l.state = 'running'
        and (v_tenant is null or l.tenant_id = v_tenant) and l.job_id < v_before
        and l.job_id > v_after
      union all (select l.job_id
                 from plait.failure_log l
                 where v_way = 'error' and l.tenant_id = any(v_tenants)
                   and l.fingerprint = p_error and l.current
                   and l.job_id < v_before and l.job_id >= coalesce(v_stop, v_after)
                 union
                 select n.id from unnest(v_new) n(id) where v_way = 'error'
                   and n.id < v_before and n.id >= coalesce(v_stop, v_after))
      union all
      select distinct a.job_id
      from plait.attempts a
      where v_way = 'failed' and a.final in ('failed', 'dead_letter')
        and a.tenant_id = v_tenant and a.job_id < v_before and a.job_id >= coalesce(v_stop, v_after)
      union all
      select distinct a.job_id
      from plait.attempts a
      where v_way = 'canceled' and a.final in ('canceled', 'skipped')
        and a.tenant_id = v_tenant and a.job_id < v_before and a.job_id >= coalesce(v_stop, v_after)
      union all
      select j.id
      from plait.jobs j
      where v_way = 'newest' and v_tenant is not null and j.tenant_id = v_tenant
        and j.id < v_before and j.id >= coalesce(v_stop, v_after)
      union all
      select j.id
      from plait.jobs j
      where v_way = 'newest' and v_tenant is null and j.id < v_before
        and j.id >= coalesce(v_stop, v_after)
    ), matching as (
      select c.id
      from (select id from candidates order by id desc) c
      join plait.jobs j on j.id = c.id
      left join plait.live l on l.job_id = c.id
      left join lateral (select t.final, t.worker, t.error
                         from plait.attempts t
                         where t.job_id = c.id
                         order by t.attempt desc limit 1) a on true
      where (p_queue is null or j.queue = p_queue)
        and (p_definition is null or j.definition = p_definition)
        and (p_source is null or j.source = p_source)
        and (p_correlation_id is null or j.correlation_id = p_correlation_id)
        and (p_parent is null or j.parent_id = p_parent)
        and (p_fan_out is null or j.fan_out_id = p_fan_out)
        and (p_created_after is null or j.created_at >= p_created_after)
        and (p_created_before is null or j.created_at < p_created_before)
        and (p_search is null or j.definition ilike v_like or j.correlation_id ilike v_like
             or j.dedupe_key ilike v_like or j.id::text = lower(p_search))
        and (p_payload is null or plait._payload_matches(j.payload, p_payload))
        and (p_error is null or plait._fingerprint(a.error) = p_error)
        and (p_has_children is null
             or exists (
               select from plait.fan_outs f
               where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
        and (p_worker is null or coalesce(l.worker, a.worker) = p_worker)
        and (v_statuses is null or coalesce(l.state, a.final) = any(v_statuses))
      order by c.id desc limit v_limit offset least(greatest(p_offset, 0), 10000)
    )
    select (select w from plait.job w where w.id = m.id), null::uuid
    from matching m
    order by m.id desc;
  get diagnostics v_n = row_count;
  if v_n < v_limit and v_way = 'value' and v_stop = v_from and coalesce(p_offset, 0) = 0 then
    return query
      select l.job, l.stopped
      from plait.search_jobs(
        p_tenant => p_tenant, p_all => p_all, p_statuses => p_statuses, p_queue => p_queue,
        p_definition => p_definition, p_source => p_source, p_worker => p_worker,
        p_correlation_id => p_correlation_id, p_parent => p_parent, p_root => p_root,
        p_fan_out => p_fan_out, p_has_children => p_has_children,
        p_created_after => p_created_after, p_created_before => p_created_before,
        p_search => p_search, p_payload => p_payload, p_before => v_from, p_limit => v_limit - v_n,
        p_offset => 0, p_scan => p_scan, p_error => p_error) l;
  elsif v_n < v_limit and v_stop > v_after then
    return query select null::plait.job, v_stop;
  end if;
end $$;
