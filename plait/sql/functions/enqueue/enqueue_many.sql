-- enqueue_many: enqueue jobs, one per array element.
--
--   moves    nothing -> queued | scheduled; -> waiting, for jobs that depend on others
--   locks    the tenant's row if it has a quota, idempotency keys, dedupe keys (both sorted); with
--            p_afters as _add_dependencies; node jobs as _start_node_job
--   raises   PL001 invalid argument, PL002 invalid id, PL003 no such tenant, PL004 another tenant,
--            PL005 quota exceeded, PL006 idempotency key used with another payload, PL007 inactive
--            definition, PL008 no such job to wait for, PL010 for keys outside READ COMMITTED,
--            PL016 when another open transaction holds a key, a quota or a job to wait for
--   called   after_many, enqueue, _fire, signal_or_start, plait.store.jobs.enqueue_many,
--            plait.store.jobs.enqueue_parts, users
--
--   p_ids                  new UUIDv7 ids, one per job, from `uuidv7`
--   p_definitions          names of job definitions
--   p_payloads             the arguments of each handler, a JSON object as text
--   p_tenants              ids of tenants. Default: as for p_tenant in other functions
--   p_queues               names of queues. Default: each definition's queue
--   p_priorities           lower runs first. Default: each definition's priority
--   p_max_attempts         maximum number of attempts. Default: each definition's
--   p_scheduled_for        start times. Default: now
--   p_delays_s             seconds until each job may start
--   p_timeouts_s           seconds that an attempt may take. Default: each definition's timeout
--   p_dedupe_keys          at most one unfinished job per key and tenant
--   p_idempotency_keys     one payload per key for as long as the job is kept
--   p_idempotency_ttls_s   seconds after which an idempotency key may be used again
--   p_limit_keys           values for the per-key limits of the definitions
--   p_correlation_ids      ids of your own to find jobs by
--   p_source               `manual`, `event`, `schedule` or `system`
--   p_in_transaction       false if the caller commits immediately after this call
--   p_afters               for each job, the ids of the jobs that it waits for, as an array literal
--   p_on_dependency_failures   `cancel` or `run`
--   p_wait_ms              milliseconds to wait for each lock before PL016, unless lock_timeout is
--                          shorter
--   p_defaults             {definition: {queue, priority, max_attempts}}, the defaults of the
--                          caller's code, for definitions that no worker has registered yet
--   p_deadlines_s          seconds after its start time within which each job must end
--
--   select * from plait.enqueue_many(array[plait.uuidv7(), plait.uuidv7()], array['send_mail'],
--     array['{"to": "a@b.example"}', '{"to": "c@d.example"}']);
--
-- For missing arrays and null elements, the definition's defaults apply. A single element
-- (definition, tenant, queue, priority, max_attempts) applies to all jobs.
-- Ids come from the caller, so a call whose reply was lost can be repeated: existing jobs are left
-- unchanged. Returns a row only for jobs that were not created because an older job holds their
-- key.
create or replace function plait.enqueue_many(
  p_ids              uuid[],
  p_definitions      text[],
  p_payloads         text[],
  p_tenants          uuid[] default null,
  p_queues           text[] default null,
  p_priorities       int[] default null,
  p_max_attempts     int[] default null,
  p_scheduled_for    timestamptz[] default null,
  p_delays_s         float8[] default null,
  p_timeouts_s       float8[] default null,
  p_dedupe_keys      text[] default null,
  p_idempotency_keys text[] default null,
  p_idempotency_ttls_s float8[] default null,
  p_limit_keys       text[] default null,
  p_correlation_ids  text[] default null,
  p_source           text default 'manual',
  p_in_transaction   boolean default true,
  p_afters           text[] default null,
  p_on_dependency_failures text[] default null,
  p_wait_ms          int default 5000,
  p_defaults         json default null,
  p_deadlines_s      float8[] default null
) returns table (requested uuid, existing uuid)
language plpgsql security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_now      timestamptz := plait._now_after_xid();
  v_n        int := cardinality(p_ids);
  v_tenant   uuid := plait._bound_tenant();
  v_ids      uuid[] := p_ids;
  v_payloads json[];
  v_metered  uuid[];
  v_bad      text;
  v_quota    boolean;
  v_plain    boolean;
  v_inactive boolean;
  v_searchable boolean;
  v_timed    boolean;
  v_queues   text[];
  v_there    uuid[];
  v_nodes    uuid[];              -- node jobs, whose parts are created here
  r          record;
  v_was      text;
begin
  if v_tenant is not null then
    if exists (select from unnest(p_tenants) t where t <> v_tenant) then
      raise exception 'this login may only act for its own tenant' using errcode = 'PL004';
    end if;
    p_in_transaction := true;  -- a bound login must not hold locks that others need
  elsif p_tenants is null then
    v_tenant := plait._tenant(null);
  elsif cardinality(p_tenants) = 1 then
    v_tenant := p_tenants[1];
  end if;
  v_plain := v_tenant is not null and cardinality(p_definitions) = 1
    and coalesce(cardinality(p_queues), 1) = 1 and coalesce(cardinality(p_priorities), 1) = 1
    and coalesce(cardinality(p_max_attempts), 1) = 1
    and num_nonnulls(
      p_scheduled_for, p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys,
      p_idempotency_ttls_s, p_limit_keys, p_correlation_ids, p_afters, p_deadlines_s) = 0;
  if exists (select from unnest(p_deadlines_s) d where not (d > 0 and d <= 3.2e9)) then
    raise exception 'a deadline must be more than 0 and at most 100 years' using errcode = 'PL001';
  end if;
  v_payloads := plait._check_jobs(
    p_now => v_now, p_ids => p_ids, p_tenants => p_tenants, p_definitions => p_definitions,
    p_payloads => p_payloads, p_queues => p_queues, p_priorities => p_priorities,
    p_max_attempts => p_max_attempts, p_scheduled_for => p_scheduled_for, p_delays_s => p_delays_s,
    p_timeouts_s => p_timeouts_s, p_dedupe_keys => p_dedupe_keys,
    p_idempotency_keys => p_idempotency_keys, p_idempotency_ttls_s => p_idempotency_ttls_s,
    p_limit_keys => p_limit_keys, p_correlation_ids => p_correlation_ids, p_source => p_source);

  if v_tenant is not null then
    select max_queued is not null into v_quota from plait.tenants where id = v_tenant;
    v_bad := case when v_quota is null then v_tenant::text end;
  else
    select min(x.tenant_id::text) filter (where t.id is null), bool_or(t.max_queued is not null)
    into v_bad, v_quota
    from (select distinct u as tenant_id from unnest(p_tenants) u) x
    left join plait.tenants t on t.id = x.tenant_id;
  end if;
  if v_bad is not null or array_position(p_tenants, null) is not null and v_tenant is null then
    raise exception 'there is no tenant %', coalesce(v_bad, 'null') using errcode = 'PL003';
  end if;

  if v_plain and not v_quota then
    select d.active, d.kind, d.deadline_s, d.search_keys, o.queue, o.priority, o.max_attempts,
           case when d.max_running is null and d.rate_count is null then '' else 'd:' || d.name end
             as lane
      into r
      from (select) one left join plait.definitions d on d.name = p_definitions[1]
      cross join plait._resolve_options(
        p_definition => d, p_name => p_definitions[1], p_queue => p_queues[1],
        p_priority => p_priorities[1], p_max_attempts => p_max_attempts[1],
        p_parent_attempts => null, p_defaults => p_defaults) o;
    if r.active is not false and r.kind is distinct from 'node' and r.deadline_s is null then
      begin
        perform plait._enqueue_plain(
          p_now => v_now, p_ids => p_ids, p_payloads => v_payloads, p_tenant => v_tenant,
          p_definition => p_definitions[1], p_queue => r.queue, p_priority => r.priority,
          p_max_attempts => r.max_attempts, p_source => p_source, p_lane => r.lane);
        if r.search_keys is not null then
          perform plait._store_search_values(p_ids, p_definitions);
        end if;
        perform plait._wake_workers(array[r.queue], p_in_transaction);
        return;
      exception when unique_violation then
        null;  -- some exist already: the general path determines which
      end;
    end if;
  end if;

  p_tenants := plait._repeat_single(p_tenants, v_n);
  p_definitions := plait._repeat_single(p_definitions, v_n);
  if v_quota then
    for r in
      select t.id
      from plait.tenants t
      where t.max_queued is not null
        and t.id in (select coalesce(v_tenant, u) from unnest(p_ids, p_tenants) i(id, u))
      order by t.id
    loop
      -- locks the tenant's row, so that the count below includes all committed jobs
      perform plait._reserve_quota(r.id, 0, p_wait_ms => p_wait_ms);
      perform plait._reserve_quota(r.id, plait._count_new(
        p_tenant => r.id, p_now => v_now, p_ids => p_ids,
        p_tenants => case when v_tenant is null then p_tenants end,
        p_definitions => p_definitions, p_dedupe_keys => p_dedupe_keys,
        p_idempotency_keys => p_idempotency_keys));
    end loop;
  end if;

  select bool_or(not d.active), bool_or(d.search_keys is not null),
         bool_or(d.deadline_s is not null)
  into v_inactive, v_searchable, v_timed
  from plait.definitions d
  where d.name = any(p_definitions);
  if v_inactive then
    perform plait._require_active(
      array(select n.name from unnest(p_ids, p_definitions) n(id, name)
             where not exists (select from plait.jobs j where j.id = n.id)));
  end if;

  if p_idempotency_keys is not null or p_dedupe_keys is not null then
    perform plait._require_read_committed();
    for r in select k.requested, k.existing from plait._insert_keys(
      p_now => v_now, p_tenant => v_tenant, p_ids => p_ids, p_tenants => p_tenants,
      p_definitions => p_definitions, p_payloads => p_payloads, p_dedupe_keys => p_dedupe_keys,
      p_idempotency_keys => p_idempotency_keys, p_idempotency_ttls_s => p_idempotency_ttls_s,
      p_wait_ms => p_wait_ms) k loop
      v_ids := array_remove(v_ids, r.requested);
      if p_afters is not null then  -- dependents wait for the existing job
        p_afters := array(select replace(a, r.requested::text, r.existing::text)
                          from unnest(p_afters) with ordinality u(a, n)
                          order by n);
      end if;
      requested := r.requested;
      existing := r.existing;
      return next;
    end loop;
    if cardinality(v_ids) = 0 then
      return;
    end if;
  end if;

  -- Insert without checking first. An id that exists was sent again, or belongs to another tenant,
  -- which is reported like any invalid id. Duplicates are detected by the failed insert, because
  -- checking first, or ON CONFLICT, would make every insert slower.
  for v_pass in 1..2 loop
    begin
      select i.o_queues, i.o_metered, i.o_node_jobs into v_queues, v_metered, v_nodes
        from plait._insert_jobs(
          p_now => v_now, p_ids => p_ids, p_definitions => p_definitions, p_payloads => v_payloads,
          p_source => p_source, p_tenant => v_tenant, p_tenants => p_tenants, p_queues => p_queues,
          p_priorities => p_priorities, p_max_attempts => p_max_attempts,
          p_scheduled_for => p_scheduled_for, p_delays_s => p_delays_s,
          p_timeouts_s => p_timeouts_s, p_dedupe_keys => p_dedupe_keys,
          p_idempotency_keys => p_idempotency_keys, p_limit_keys => p_limit_keys,
          p_correlation_ids => p_correlation_ids, p_afters => p_afters, p_defaults => p_defaults,
          p_only => case when cardinality(v_ids) < v_n then v_ids end,
          p_metered => case when not v_quota then false end, p_await_nodes => true) i;
      exit;
    exception when unique_violation then
      v_there := array(select j.id from plait.jobs j where j.id = any(v_ids));
      if cardinality(v_there) = 0 and v_pass = 2 then
        raise;
      end if;
      if (select count(distinct i) from unnest(p_ids) i) < v_n
         or exists (select from unnest(p_ids, p_tenants, p_definitions) i(id, tenant_id, definition)
                    left join plait.jobs j
                      on j.id = i.id and j.tenant_id = coalesce(v_tenant, i.tenant_id)
                        and j.definition = i.definition
                    where i.id = any(v_there) and j.id is null) then
        raise exception 'a job id must be a new UUIDv7 that was generated within a day of now'
          using errcode = 'PL002';
      end if;
      v_ids := array(select i from unnest(v_ids) i where not i = any(v_there));
      if cardinality(v_ids) = 0 then
        return;
      end if;
    end;
  end loop;

  if v_searchable then
    perform plait._store_search_values(v_ids, p_definitions);
  end if;
  if v_timed or p_deadlines_s is not null then
    perform plait._set_deadlines(
      v_ids, p_definitions,
      case when p_deadlines_s is not null then
             array(select i.deadline_s
                   from unnest(p_ids, p_deadlines_s) i(id, deadline_s)
                   where i.id = any(v_ids)
                   order by array_position(v_ids, i.id)) end);
  end if;
  if v_nodes is not null then
    perform plait._start_node_job(
      v_now, array(select j.id from plait.jobs j where j.id = any(v_nodes) and j.after is null),
      p_in_transaction);
  end if;
  if p_afters is not null then
    perform plait._require_read_committed();
    v_was := plait._limit_lock_waits(p_wait_ms);
    begin
      perform plait._add_dependencies(
        v_now, v_ids,
        array(select i.p
              from unnest(p_ids, p_on_dependency_failures) with ordinality i(id, p, n)
              where i.id = any(v_ids)
              order by array_position(v_ids, i.id)));
    exception when lock_not_available then
      if v_was ~ '^\d{1,3}ms$' then
        raise;
      end if;
      raise exception 'another open transaction holds a job that the new job waits for: commit or roll it back, then enqueue again'
        using errcode = 'PL016';
    end;
    perform set_config('lock_timeout', v_was, true);
  end if;
  if v_metered is not null then
    for r in select t as id, count(*)::int as n from unnest(v_metered) t group by t order by t loop
      perform plait._reserve_quota(r.id, r.n, true);
    end loop;
  end if;
  if v_queues is not null then
    perform plait._wake_workers(v_queues, p_in_transaction);
  end if;
end $$;
