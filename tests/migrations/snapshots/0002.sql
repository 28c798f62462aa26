-- A database of schema version 2, made by scripts/snapshot. Frozen when that version is released.
-- Every job's correlation_id names its status. The roles of plait/sql/roles.sql are assumed to exist.

create schema plait authorization plait_owner;
set role plait_owner;
set check_function_bodies = off;

CREATE TYPE plait.ending AS ENUM (
    'succeeded',
    'failed',
    'timeout',
    'canceled',
    'skipped',
    'lost',
    'released',
    'snoozed',
    'suspended'
);

CREATE TYPE plait.status AS ENUM (
    'scheduled',
    'queued',
    'running',
    'waiting',
    'succeeded',
    'failed',
    'dead_letter',
    'canceled',
    'skipped'
);

CREATE FUNCTION plait._backoff(p_tries integer, p_base_s double precision, p_factor double precision, p_max_s double precision, p_jitter double precision) RETURNS double precision
    LANGUAGE sql
    RETURN (LEAST((LEAST(COALESCE(p_base_s, (1)::double precision), ('3200000000'::numeric)::double precision) * (COALESCE(p_factor, (2)::double precision) ^ (LEAST((p_tries - 1), 60))::double precision)), COALESCE(p_max_s, (3600)::double precision), ('3200000000'::numeric)::double precision) * ((1)::double precision + (COALESCE(p_jitter, (0.2)::double precision) * (((2)::double precision * random()) - (1)::double precision))));

CREATE FUNCTION plait._bound_tenant() RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
declare v_tenant uuid;
begin
  select tenant_id into v_tenant from plait.logins where login = session_user;
  if not found and not (pg_has_role(session_user, 'plait_client', 'member') or pg_has_role(session_user, 'plait_worker', 'member')
                        or pg_has_role(session_user, 'plait_admin', 'member')) then
    raise exception 'this login is bound to no tenant' using errcode = 'PL004';
  end if;
  return v_tenant;
end $$;

CREATE FUNCTION plait._check_jobs(p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text) RETURNS json[]
    LANGUAGE plpgsql STABLE
    AS $_$
declare
  v_n   int := cardinality(p_ids);
  v_bad text;
  v_plain boolean;
  v_payloads json[];
  v_low uuid := plait._uuid_floor(clock_timestamp() - interval '1 day');  -- clock: an id is a physical thing
  v_high uuid := plait._uuid_floor(clock_timestamp() + interval '1 day');  -- clock: as above
begin
  if coalesce(v_n, 0) = 0 or cardinality(p_payloads) is distinct from v_n
     or cardinality(p_definitions) not in (1, v_n) or p_definitions is null then
    raise exception 'ids, definitions and payloads must be arrays of one length, and not empty' using errcode = 'PL001';
  end if;
  -- unnest would pad the shorter ones with nulls, which stand for defaults; where one may stand for all, it is the first.
  if cardinality(p_tenants) not in (1, v_n) or cardinality(p_queues) not in (1, v_n) or cardinality(p_priorities) not in (1, v_n)
     or cardinality(p_max_attempts) not in (1, v_n) or cardinality(p_scheduled_for) <> v_n or cardinality(p_delays_s) <> v_n
     or cardinality(p_timeouts_s) <> v_n or cardinality(p_dedupe_keys) <> v_n or cardinality(p_idempotency_keys) <> v_n
     or cardinality(p_idempotency_ttls_s) <> v_n or cardinality(p_limit_keys) <> v_n or cardinality(p_correlation_ids) <> v_n then
    raise exception 'every array must have as many elements as there are ids' using errcode = 'PL001';
  end if;
  if p_source is null or p_source not in ('manual', 'event', 'schedule', 'system') then
    raise exception 'a source is manual, event, schedule or system, not %', coalesce(quote_literal(left(p_source, 80)), 'null')
      using errcode = 'PL001';
  end if;
  -- One plain job, as most calls bring: a single expression tells that nothing is wrong with it.
  v_plain := v_n = 1 and p_ids[1] between v_low and v_high and get_byte(uuid_send(p_ids[1]), 6) >> 4 = 7
    and p_definitions[1] ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$' and octet_length(p_payloads[1]) <= 1048576
    and coalesce(p_queues[1] ~ '^[A-Za-z0-9_.:-]{1,100}$', true) and coalesce(p_priorities[1] between -32768 and 32767, true)
    and coalesce(p_max_attempts[1] between 1 and 10000, true)
    and num_nonnulls(p_scheduled_for, p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s,
                     p_limit_keys, p_correlation_ids) = 0;
  if v_plain is not true then
    if exists (select from unnest(p_ids) i where i is null or i < v_low or i > v_high or get_byte(uuid_send(i), 6) >> 4 <> 7) then
      raise exception 'a job''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
    end if;

    -- Names by their few distinct values: a pattern costs more than all the rest. (`offset 0` keeps it from being tried on each.)
    select 'a definition''s name is 1 to 200 printable characters, not ' || coalesce(quote_literal(left(d, 80)), 'null') into v_bad
      from (select distinct d from unnest(p_definitions) d offset 0) n
      where d is null or d !~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$' limit 1;
    if v_bad is null then
      select 'a queue''s name is 1 to 100 letters, digits and _ . : -, not ' || quote_literal(left(q, 80)) into v_bad
        from (select distinct q from unnest(p_queues) q offset 0) n where q !~ '^[A-Za-z0-9_.:-]{1,100}$' limit 1;
    end if;
    if v_bad is null then
      select case
        when payload is null or octet_length(payload) > 1048576 then 'a payload is JSON of at most 1 MiB'
        when priority not between -32768 and 32767 then 'a priority is between -32768 and 32767, not ' || priority
        when max_attempts not between 1 and 10000 then 'max_attempts is between 1 and 10000, not ' || max_attempts
        when delay_s < 0 or delay_s > 3.2e9 then 'a delay is between 0 and 100 years, not ' || delay_s || ' s'
        when scheduled_for not between p_now - interval '100 years' and p_now + interval '100 years'
          then 'a job is scheduled within 100 years of now, not for ' || scheduled_for
        else 'a timeout is more than 0, not ' || timeout_s || ' s' end
      into v_bad
      from unnest(p_payloads, p_priorities, p_max_attempts, p_scheduled_for, p_delays_s, p_timeouts_s)
           i(payload, priority, max_attempts, scheduled_for, delay_s, timeout_s)
      where payload is null or octet_length(payload) > 1048576
         or priority not between -32768 and 32767
         or max_attempts not between 1 and 10000
         or delay_s < 0 or delay_s > 3.2e9                                     -- NaN is greater than all
         or scheduled_for not between p_now - interval '100 years' and p_now + interval '100 years'
         or timeout_s <= 0 or timeout_s = 'NaN'
      limit 1;
    end if;
    if v_bad is null and (p_dedupe_keys is not null or p_idempotency_keys is not null or p_idempotency_ttls_s is not null
                          or p_limit_keys is not null or p_correlation_ids is not null) then
      select case when ttl_s <= 0 or ttl_s > 3.2e9
                  then 'an idempotency key''s ttl is more than 0 and at most 100 years, not ' || ttl_s || ' s'
                  else 'a dedupe key, idempotency key, limit key or correlation id is 1 to 500 characters' end
      into v_bad
      from unnest(p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s, p_limit_keys, p_correlation_ids)
           i(dedupe_key, idempotency_key, ttl_s, limit_key, correlation_id)
      where ttl_s <= 0 or ttl_s > 3.2e9
         or length(dedupe_key) not between 1 and 500 or length(idempotency_key) not between 1 and 500
         or length(limit_key) not between 1 and 500 or length(correlation_id) not between 1 and 500
      limit 1;
    end if;
    if v_bad is not null then
      raise exception '%', v_bad using errcode = 'PL001';
    end if;
  end if;

  begin
    v_payloads := p_payloads::json[];
  exception when data_exception or program_limit_exceeded then
    raise exception 'a payload is JSON, and this is not: %', sqlerrm using errcode = 'PL001';
  end;
  if v_n = 1 and json_typeof(v_payloads[1]) <> 'object'
     or v_n > 1 and exists (select from unnest(v_payloads) p where json_typeof(p) <> 'object') then
    raise exception 'a payload is a JSON object: the arguments by name' using errcode = 'PL001';
  end if;
  return v_payloads;
end $_$;

CREATE FUNCTION plait._check_outcomes(p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS $$
declare v_n int := cardinality(p_jobs);
begin
  if v_n is null or cardinality(p_attempts) is distinct from v_n or cardinality(p_outcomes) <> v_n
     or cardinality(p_results) <> v_n or cardinality(p_details) <> v_n or cardinality(p_ran_ms) <> v_n then
    raise exception 'jobs, attempts, outcomes and what comes with them must be arrays of one length' using errcode = 'PL001';
  end if;
  if not p_outcomes <@ '{succeeded,failed,timeout,skipped,snoozed,released,canceled}' or array_position(p_outcomes, null) is not null then
    raise exception 'an outcome is succeeded, failed, timeout, skipped, snoozed, released or canceled' using errcode = 'PL001';
  end if;
end $$;

CREATE FUNCTION plait._claim(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  q       plait.queues;
  v_rest  int := p_limit;
  v_lanes boolean;
  v_main  boolean;
  v_part  int;
  t       record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  if not pg_try_advisory_xact_lock_shared(hashtextextended('plait.queue ' || p_queue, 0)) then
    return;
  end if;
  select * into q from plait.queues where name = p_queue;
  if found then
    if q.paused then
      return;
    end if;
    if q.max_running is not null or q.rate_count is not null then
      if not pg_try_advisory_xact_lock(hashtextextended('plait.limit queue ' || p_queue, 0)) then
        return;
      end if;
      if q.max_running is not null then
        v_rest := least(v_rest, q.max_running - (select count(*) from plait.live l where l.state = 'running' and l.queue = p_queue));
      end if;
      if q.rate_count is not null then
        v_rest := least(v_rest, plait._tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now));
      end if;
    end if;
  end if;
  if v_rest <= 0 then
    return;
  end if;
  p_limit := v_rest;

  v_lanes := exists (select from plait.live l where l.queue = p_queue and l.lane <> '' and l.state = 'queued');
  v_main := not v_lanes or exists (select from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued');
  if v_lanes then
    v_part := case when v_main then p_limit / 2 + (p_limit % 2 = 1 and random() < 0.5)::int else p_limit end;
    t := plait._take_lanes(p_worker, p_now, p_queue, v_part, p_definitions, p_cursor, p_lane_cursor);
    o_jobs := t.o_jobs; o_attempts := t.o_attempts; o_tries := t.o_tries; o_max := t.o_max;
    p_lane_cursor := t.p_lane_cursor;
    if not v_main then
      p_cursor := t.p_cursor;
    end if;
  end if;
  if v_main and cardinality(o_jobs) < p_limit then
    t := plait._take(p_worker, p_now, p_queue, '', p_limit - cardinality(o_jobs), p_definitions, p_cursor);
    p_cursor := t.p_cursor;
    o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts; o_tries := o_tries || t.o_tries; o_max := o_max || t.o_max;
    if v_lanes and cardinality(o_jobs) < p_limit then   -- it had less than its part
      t := plait._take_lanes(p_worker, p_now, p_queue, p_limit - cardinality(o_jobs), p_definitions, p_cursor, p_lane_cursor);
      p_lane_cursor := t.p_lane_cursor;
      o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts; o_tries := o_tries || t.o_tries; o_max := o_max || t.o_max;
    end if;
  end if;
  if q.rate_count is not null and cardinality(o_jobs) > 0 then
    perform plait._tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now, cardinality(o_jobs));
  end if;
end $$;

CREATE FUNCTION plait._count_new(p_tenant uuid, p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_dedupe_keys text[], p_idempotency_keys text[]) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
  select count(distinct coalesce('dedupe ' || i.dedupe_key, 'idempotency ' || i.definition || ' ' || i.idempotency_key, i.id::text))::int
  from unnest(p_ids, p_tenants, p_definitions, p_dedupe_keys, p_idempotency_keys) i(id, tenant_id, definition, dedupe_key, idempotency_key)
  where coalesce(i.tenant_id, p_tenant) = p_tenant
    and not exists (select from plait.jobs j where j.id = i.id)
    and not exists (select from plait.dedupe d where d.tenant_id = p_tenant and d.key = i.dedupe_key)
    and not exists (select from plait.idempotency k where k.tenant_id = p_tenant and k.definition = i.definition
                    and k.key = i.idempotency_key and (k.expires_at is null or k.expires_at > p_now))
$$;

CREATE FUNCTION plait._detail(p_detail text, OUT error text, OUT traceback text, OUT reason text, OUT permanent boolean, OUT delay_s double precision, OUT pid integer, OUT exit_code integer) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    AS $_$
declare v_detail json;
begin
  if p_detail is null then
    return;
  end if;
  for attempt in 1..2 loop
    begin
      v_detail := p_detail::json;
      exit when json_typeof(v_detail) <> 'object';
      error := v_detail ->> 'error';
      traceback := v_detail ->> 'traceback';
      reason := v_detail ->> 'reason';
      permanent := v_detail ->> 'permanent' = 'true';
      delay_s := substring(v_detail ->> 'delay_s' from '^-?\d{1,15}(?:\.\d+)?(?:[eE][+-]?\d{1,2})?$')::float8;
      delay_s := case when delay_s is not null then least(greatest(0, delay_s), 3.2e9) end;
      pid := substring(v_detail ->> 'pid' from '^-?\d{1,9}$')::int;
      exit_code := substring(v_detail ->> 'exit_code' from '^-?\d{1,9}$')::int;
      return;
    exception when data_exception or program_limit_exceeded then
      p_detail := regexp_replace(p_detail, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g');
    end;
  end loop;
  error := p_detail;
end $_$;

CREATE FUNCTION plait._each(p_values anyarray, p_count integer) RETURNS anyarray
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when cardinality(p_values) = 1 and p_count > 1 then array_fill(p_values[1], array[p_count]) else p_values end
$$;

CREATE TABLE plait.live (
    job_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    run_at timestamp with time zone NOT NULL,
    cancel_requested timestamp with time zone,
    worker integer,
    attempt integer DEFAULT 0 NOT NULL,
    priority smallint NOT NULL,
    tries smallint DEFAULT 0 NOT NULL,
    max_attempts smallint NOT NULL,
    losses smallint DEFAULT 0 NOT NULL,
    state plait.status NOT NULL,
    metered boolean DEFAULT false NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    lane text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    definition text NOT NULL COLLATE pg_catalog."C",
    dedupe_key text COLLATE pg_catalog."C",
    limit_key text COLLATE pg_catalog."C",
    cancel_reason text,
    CONSTRAINT live_only_running_is_asked_to_stop CHECK (((cancel_requested IS NULL) OR (state = 'running'::plait.status))),
    CONSTRAINT live_running_has_a_worker CHECK (((state = 'running'::plait.status) = (worker IS NOT NULL))),
    CONSTRAINT live_state CHECK ((state = ANY (ARRAY['scheduled'::plait.status, 'queued'::plait.status, 'running'::plait.status, 'waiting'::plait.status])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');

ALTER TABLE ONLY plait.live FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait._end(p_live plait.live, p_now timestamp with time zone, p_status plait.ending, p_final plait.status, p_reason text, p_error text) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare v_ran boolean := p_live.state = 'running';
begin
  delete from plait.live where job_id = p_live.job_id;
  if p_live.dedupe_key is not null then
    delete from plait.dedupe where tenant_id = p_live.tenant_id and key = p_live.dedupe_key and job_id = p_live.job_id;
  end if;
  insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, reason, error, progress)
  values (p_live.job_id, p_live.tenant_id, case when v_ran then p_live.run_at end, case when v_ran then p_live.run_at end, p_now,
          case when v_ran then p_live.attempt else p_live.attempt + 1 end, p_live.worker, p_status, p_final, p_reason, p_error,
          (select progress from plait.running_state r where r.job_id = p_live.job_id and r.attempt = p_live.attempt));
  delete from plait.running_state where job_id = p_live.job_id;
end $$;

CREATE FUNCTION plait._enqueue_plain(p_now timestamp with time zone, p_ids uuid[], p_payloads json[], p_tenant uuid, p_definition text, p_queue text, p_priority integer, p_max_attempts integer, p_source text, p_lane text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, source, payload)
  select i.id, p_tenant, p_now, p_priority, p_max_attempts, p_definition, p_queue, p_source, i.payload
  from unnest(p_ids, p_payloads) i(id, payload);
  insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition)
  select i, p_tenant, p_now, p_priority, p_max_attempts, 'queued', false, p_queue, p_lane, p_definition
  from unnest(p_ids) i;
end $$;

CREATE FUNCTION plait._fetch(p_jobs uuid[], p_attempts integer[], p_tries smallint[], p_max smallint[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[]) RETURNS record
    LANGUAGE sql STABLE
    AS $$
  select array_agg(s.id), array_agg(s.attempt), array_agg(s.tries), array_agg(s.max), array_agg(s.tenant_id),
         array_agg(s.definition), case when min(s.queue) < max(s.queue) then array_agg(s.queue) else array[min(s.queue)] end, array_agg(s.payload::text),
         case when count(s.timeout_s) > 0 then array_agg(s.timeout_s) end,
         case when count(s.correlation_id) > 0 then array_agg(s.correlation_id) end
  from (select j.id, x.attempt, x.tries, x.max, j.tenant_id, j.definition, j.queue, j.payload, j.timeout_s, j.correlation_id
        from unnest(p_jobs, p_attempts, p_tries, p_max) x(id, attempt, tries, max) join plait.jobs j on j.id = x.id
        where j.id = any(p_jobs)
        order by j.priority, j.id) s
$$;

CREATE FUNCTION plait._give_back(p_worker integer, p_now timestamp with time zone, p_reason text, p_held uuid[], p_held_attempts integer[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
  l        plait.live;
  v_n      int := 0;
  v_back   int;
  v_queues text[];
begin
  for l in
    select v.* from plait.live v
    where v.worker = p_worker and v.cancel_requested is not null
      and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt) where h.id = v.job_id and h.attempt = v.attempt)
    order by v.job_id for update skip locked
  loop
    perform plait._end(l, p_now, 'canceled', 'canceled', p_reason, l.cancel_reason);
    v_n := v_n + 1;
  end loop;

  with c as materialized (
    select v.job_id, v.tenant_id, v.run_at, v.attempt, v.queue from plait.live v
    where v.worker = p_worker and v.state = 'running' and v.cancel_requested is null
      and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt) where h.id = v.job_id and h.attempt = v.attempt)
    order by v.job_id for update skip locked
  ), u as (
    update plait.live v set state = 'queued', worker = null, run_at = p_now from c where v.job_id = c.job_id
  ), r as (
    delete from plait.running_state s using c where s.job_id = c.job_id returning s.job_id, s.attempt, s.progress
  ), a as (
    insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, progress)
    select c.job_id, c.tenant_id, c.run_at, case when p_reason <> 'not_held' then c.run_at end, p_now, c.attempt, p_worker, 'released',
           p_reason, r.progress
    from c left join r on r.job_id = c.job_id and r.attempt = c.attempt
    returning 1
  )
  select count(*), (select array_agg(distinct queue) from c) into v_back, v_queues from a;
  if v_back > 0 then
    perform plait._wake(v_queues);
  end if;
  return v_n + v_back;
end $$;

CREATE FUNCTION plait._guard_live() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'a % job cannot become %', old.state, new.state
    using errcode = 'PL009', detail = 'job ' || old.job_id || ', attempt ' || old.attempt;
end $$;

CREATE FUNCTION plait._hold_keys(p_now timestamp with time zone, p_tenant uuid, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[]) RETURNS TABLE(requested uuid, existing uuid)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
declare
  r       record;
  v_held  plait.idempotency;
  v_hash  text;
  v_job   uuid;
  v_asked uuid[] := '{}';
  v_found uuid[] := '{}';
begin
  for r in
    select i.id, coalesce(p_tenant, i.tenant_id) as tenant_id, i.definition, i.payload, i.idempotency_key as key, i.ttl_s
    from unnest(p_ids, p_tenants, p_definitions, p_payloads, p_idempotency_keys, p_idempotency_ttls_s)
         i(id, tenant_id, definition, payload, idempotency_key, ttl_s)
    where i.idempotency_key is not null order by 2, 3, 5, i.id
  loop
    v_hash := plait._payload_hash(r.payload);
    loop
      delete from plait.idempotency where tenant_id = r.tenant_id and definition = r.definition and key = r.key and expires_at <= p_now;
      insert into plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at)
      values (r.tenant_id, r.definition, r.key, r.id, v_hash, p_now + make_interval(secs => r.ttl_s))
      on conflict do nothing;
      exit when found;
      select * into v_held from plait.idempotency where tenant_id = r.tenant_id and definition = r.definition and key = r.key;
      continue when not found;  -- gone between the two statements: try again
      if v_held.payload_hash <> v_hash then
        raise exception 'idempotency key % was used with another payload', quote_literal(r.key) using errcode = 'PL006';
      end if;
      if v_held.job_id <> r.id then
        v_asked := v_asked || r.id;
        v_found := v_found || v_held.job_id;
        p_dedupe_keys := (select array_agg(case when i.id = r.id then null else i.k end order by i.n)
                          from unnest(p_ids, p_dedupe_keys) with ordinality i(id, k, n));
      end if;
      exit;
    end loop;
  end loop;

  for r in
    select i.id, coalesce(p_tenant, i.tenant_id) as tenant_id, i.dedupe_key as key
    from unnest(p_ids, p_tenants, p_dedupe_keys) i(id, tenant_id, dedupe_key)
    where i.dedupe_key is not null order by 2, 3, i.id
  loop
    loop
      -- A job that was enqueued and has ended already gave its key back: sent again, it must not take it anew.
      exit when exists (select from plait.jobs where id = r.id);
      insert into plait.dedupe (tenant_id, key, job_id) values (r.tenant_id, r.key, r.id) on conflict do nothing;
      exit when found;
      select job_id into v_job from plait.dedupe where tenant_id = r.tenant_id and key = r.key;
      continue when not found;
      if v_job <> r.id then
        v_asked := v_asked || r.id;
        v_found := array_replace(v_found, r.id, v_job) || v_job;
        -- Its idempotency key stands for what it was answered with: this job is never made.
        update plait.idempotency set job_id = v_job where job_id = r.id;
      end if;
      exit;
    end loop;
  end loop;
  return query select * from unnest(v_asked, v_found);
end $$;

CREATE FUNCTION plait.now() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    RETURN clock_timestamp();

CREATE TABLE plait.definitions (
    name text NOT NULL COLLATE pg_catalog."C",
    kind text DEFAULT 'function'::text NOT NULL,
    active boolean DEFAULT true NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    priority smallint DEFAULT 100 NOT NULL,
    max_attempts smallint DEFAULT 5 NOT NULL,
    timeout_s double precision DEFAULT 3600 NOT NULL,
    backoff_base_s double precision DEFAULT 1 NOT NULL,
    backoff_factor double precision DEFAULT 2 NOT NULL,
    backoff_max_s double precision DEFAULT 3600 NOT NULL,
    backoff_jitter double precision DEFAULT 0.2 NOT NULL,
    max_running integer,
    rate_count integer,
    rate_period_s double precision,
    key_max_running integer,
    key_rate_count integer,
    key_rate_period_s double precision,
    updated_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    CONSTRAINT definitions_backoff_base_s_check CHECK (((backoff_base_s >= (0)::double precision) AND (backoff_base_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_backoff_factor_check CHECK (((backoff_factor >= (1)::double precision) AND (backoff_factor <= (100)::double precision))),
    CONSTRAINT definitions_backoff_jitter_check CHECK (((backoff_jitter >= (0)::double precision) AND (backoff_jitter <= (1)::double precision))),
    CONSTRAINT definitions_backoff_max_s_check CHECK (((backoff_max_s >= (0)::double precision) AND (backoff_max_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_check CHECK (((rate_count IS NULL) = (rate_period_s IS NULL))),
    CONSTRAINT definitions_check1 CHECK (((key_rate_count IS NULL) = (key_rate_period_s IS NULL))),
    CONSTRAINT definitions_key_max_running_check CHECK ((key_max_running >= 0)),
    CONSTRAINT definitions_key_rate_count_check CHECK ((key_rate_count >= 1)),
    CONSTRAINT definitions_key_rate_period_s_check CHECK (((key_rate_period_s > (0)::double precision) AND (key_rate_period_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_kind_check CHECK ((kind = 'function'::text)),
    CONSTRAINT definitions_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 10000))),
    CONSTRAINT definitions_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT definitions_name_check CHECK (((name COLLATE "default") ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'::text)),
    CONSTRAINT definitions_queue_check CHECK ((queue ~ '^[A-Za-z0-9_.:-]{1,100}$'::text)),
    CONSTRAINT definitions_rate_count_check CHECK ((rate_count >= 1)),
    CONSTRAINT definitions_rate_period_s_check CHECK (((rate_period_s > (0)::double precision) AND (rate_period_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_timeout_s_check CHECK (((timeout_s > (0)::double precision) AND (timeout_s <= ('3200000000'::numeric)::double precision)))
);

CREATE FUNCTION plait._lane(p_definition text, p_tenant uuid, p_limit_key text) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE WHEN (p_limit_key IS NOT NULL) THEN ((((('k:'::text || p_definition) || ':'::text) || p_tenant) || ':'::text) || p_limit_key) WHEN (EXISTS (SELECT FROM plait.definitions d WHERE ((d.name = _lane.p_definition) AND ((d.max_running IS NOT NULL) OR (d.rate_count IS NOT NULL))))) THEN ('d:'::text || p_definition) ELSE ''::text END;

CREATE FUNCTION plait._lanes(p_queue text, p_after text, p_upto text, p_limit integer) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
begin
  return (
    with recursive s(lane, n) as (
      (select l.lane, 1 from plait.live l
       where l.queue = p_queue and l.state = 'queued' and l.lane <> '' and l.lane > p_after order by l.lane limit least(1, p_limit))
      union all
      (select y.lane, s.n + 1 from s cross join lateral (
         select l.lane from plait.live l where l.queue = p_queue and l.state = 'queued' and l.lane <> '' and l.lane > s.lane order by l.lane limit 1) y
       where s.n < p_limit))
    select coalesce(array_agg(lane order by n), '{}') from s where p_upto is null or lane <= p_upto);
end $$;

CREATE FUNCTION plait._payload_hash(p_payload text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  return md5(p_payload::jsonb::text);
exception when others then
  return md5(p_payload);
end $$;

CREATE FUNCTION plait._release_keys(p_tenants uuid[], p_keys text[], p_jobs uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_nestloop TO 'on'
    AS $$
declare r record;
begin
  for r in select * from unnest(p_tenants, p_keys, p_jobs) k(tenant_id, key, job_id) order by 1, 2 loop
    delete from plait.dedupe where tenant_id = r.tenant_id and key = r.key and job_id = r.job_id;
  end loop;
end $$;

CREATE FUNCTION plait._require_read_committed() RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'call this in a READ COMMITTED transaction, not in %', upper(current_setting('transaction_isolation'))
      using errcode = 'PL010';
  end if;
end $$;

CREATE FUNCTION plait._reserve(p_tenant uuid, p_count integer, p_made boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_tenant       plait.tenants;
  v_left         int;
  v_lock_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '2s', true);
  begin
    select * into v_tenant from plait.tenants where id = p_tenant for no key update;
  exception when lock_not_available then
    raise exception 'the quota of this tenant is busy: another transaction holds it' using errcode = 'PL005';
  end;
  perform set_config('lock_timeout', v_lock_timeout, true);
  if v_tenant.max_queued is null then
    return;
  end if;

  v_left := coalesce(v_tenant.quota_left, -1) - p_count;
  if v_left < 0 then
    v_left := v_tenant.max_queued - case when p_made then 0 else p_count end
              - (select count(*) from plait.live where tenant_id = p_tenant and metered);
    if v_left < 0 then
      raise exception 'tenant % may have % jobs that are not final; % more would exceed it',
        v_tenant.slug, v_tenant.max_queued, p_count using errcode = 'PL005';
    end if;
  end if;
  if p_made then
    update plait.tenants set quota_left = v_left where id = p_tenant;
  end if;
end $$;

CREATE FUNCTION plait._room(p_definition text, p_tenant uuid, p_limit_key text, p_now timestamp with time zone, p_spend integer DEFAULT 0) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
  d      plait.definitions;
  v_room int := 2147483647;
  v_name text := 'definition ' || p_definition;
  v_key  text := 'key ' || p_definition || ' ' || coalesce(p_tenant::text, '') || ' ' || coalesce(p_limit_key, '');
begin
  select * into d from plait.definitions where name = p_definition;
  if not found then
    return v_room;
  end if;
  if d.max_running is not null or d.rate_count is not null then
    if not pg_try_advisory_xact_lock(hashtextextended('plait.limit ' || v_name, 0)) then
      return 0;
    end if;
    if d.max_running is not null then
      v_room := least(v_room, d.max_running - (select count(*) from plait.live l
        where l.definition = p_definition and l.state = 'running' and l.lane <> ''));
    end if;
    if d.rate_count is not null then
      v_room := least(v_room, plait._tokens(v_name, d.rate_count, d.rate_period_s, p_now, p_spend));
    end if;
  end if;
  if p_limit_key is not null and (d.key_max_running is not null or d.key_rate_count is not null) then
    if not pg_try_advisory_xact_lock(hashtextextended('plait.limit ' || v_key, 0)) then
      return 0;
    end if;
    if d.key_max_running is not null then
      v_room := least(v_room, d.key_max_running - (select count(*) from plait.live l
        where l.definition = p_definition and l.tenant_id = p_tenant and l.limit_key = p_limit_key and l.state = 'running' and l.lane <> ''));
    end if;
    if d.key_rate_count is not null then
      v_room := least(v_room, plait._tokens(v_key, d.key_rate_count, d.key_rate_period_s, p_now, p_spend));
    end if;
  end if;
  return greatest(0, v_room);
end $$;

CREATE FUNCTION plait._settle(p_worker integer, p_now timestamp with time zone, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
declare
  v_attempt   int;
  v_succeeded uuid[];
  v_others    uuid[];
  v_settled   int := 0;
  v_n         int;
  v_queues    text[];
begin
  if p_outcomes is null then
    if (select min(a) < max(a) from unnest(p_attempts) a) then
      p_outcomes := array_fill('succeeded'::text, array[cardinality(p_jobs)]);
    else
      v_settled := plait._settle_succeeded(p_worker, p_now, p_attempts[1], p_jobs, p_jobs, p_attempts, p_results, p_ran_ms);
    end if;
  end if;

  for v_attempt in select distinct a from unnest(p_attempts) a where p_outcomes is not null loop
    select array_agg(x.id) filter (where x.outcome = 'succeeded'), array_agg(x.id) filter (where x.outcome <> 'succeeded')
      into v_succeeded, v_others
      from unnest(p_jobs, p_attempts, p_outcomes) x(id, attempt, outcome) where x.attempt = v_attempt;

    if v_succeeded is not null then
      v_settled := v_settled + plait._settle_succeeded(
        p_worker, p_now, v_attempt, v_succeeded, p_jobs, p_attempts, p_results, p_ran_ms);
    end if;

    if v_others is not null then
      with c as materialized (
        select l.job_id, l.tenant_id, l.run_at, l.queue, l.dedupe_key, l.cancel_requested, l.definition, l.limit_key,
               greatest(l.run_at, p_now - make_interval(secs => least(greatest(0, coalesce(x.ran_ms, 3.2e12)), 3.2e12) / 1000)) as started_at,
               case when l.cancel_requested is not null then coalesce(x.error, l.cancel_reason) else x.error end as error,
               x.traceback, x.reason, x.pid, x.exit_code, x.result,
               case when l.cancel_requested is not null then 'canceled'
                    when x.outcome = 'canceled' then 'released'      -- nobody asked: the worker only gave it back
                    else x.outcome end as outcome,
               case when l.cancel_requested is not null then 'canceled'
                    when x.outcome = 'skipped' then 'skipped'
                    when x.outcome not in ('failed', 'timeout') then null
                    when x.permanent then 'failed'
                    when l.tries + 1 >= l.max_attempts then 'dead_letter' end as final,
               case when x.outcome in ('failed', 'timeout') then l.tries + 1 else l.tries end as tries,
               case when x.outcome = 'snoozed' or (x.outcome = 'failed' and x.delay_s is not null) then coalesce(x.delay_s, 0)
                    when x.outcome in ('failed', 'timeout') then
                      plait._backoff(l.tries + 1, d.backoff_base_s, d.backoff_factor, d.backoff_max_s, d.backoff_jitter)
                    else 0 end as delay_s
        from plait.live l
        join (select u.id, u.attempt, u.outcome, u.result, u.ran_ms, d.*
              from unnest(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms) u(id, attempt, outcome, result, detail, ran_ms)
              cross join lateral plait._detail(u.detail) d
              where u.outcome <> 'succeeded' and u.attempt = v_attempt) x
          on x.id = l.job_id and x.attempt = v_attempt
        left join plait.definitions d on d.name = l.definition
        where l.job_id = any(v_others) and l.attempt = v_attempt and l.worker + 0 = p_worker  -- see _settle_succeeded
        order by l.job_id for update of l
      ), del as (
        delete from plait.live l using c where c.final is not null and l.job_id = c.job_id
      ), upd as (
        update plait.live l set
          state = case when c.delay_s > 0 then 'scheduled' else 'queued' end::plait.status,
          run_at = p_now + make_interval(secs => c.delay_s), worker = null, tries = c.tries,
          -- It came back from a worker that lives: no longer a suspect, unless it never had the chance to show it.
          losses = case when c.outcome = 'released' then l.losses else 0 end,
          lane = case when c.outcome = 'released' then l.lane else plait._lane(l.definition, l.tenant_id, l.limit_key) end
        from c where c.final is null and l.job_id = c.job_id
      ), k as (
        delete from plait.dedupe u using c
        where c.final is not null and c.dedupe_key is not null
          and u.tenant_id = c.tenant_id and u.key = c.dedupe_key and u.job_id = c.job_id
      ), a as (
        insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final,
                                    pid, exit_code, reason, error, traceback, result)
        select c.job_id, c.tenant_id, c.run_at, c.started_at, p_now,
               v_attempt, p_worker, c.outcome::plait.ending, c.final::plait.status,
               c.pid, c.exit_code,
               coalesce(c.reason, case c.final when 'dead_letter' then 'attempts_exhausted' when 'failed' then 'permanent'
                                                            when 'canceled' then 'cancel_requested' end),
               c.error, c.traceback, c.result::json
        from c returning 1
      )
      select count(*), (select array_agg(distinct queue) from c where final is null and delay_s <= 0) into v_n, v_queues from a;
      v_settled := v_settled + v_n;
      if v_queues is not null then
        perform plait._wake(v_queues);
      end if;
    end if;
  end loop;

  if exists (select from plait.running_state where job_id = any(p_jobs)) then
    with r as (
      delete from plait.running_state s using unnest(p_jobs, p_attempts) x(id, attempt)
      where s.job_id = x.id and s.attempt = x.attempt
        and exists (select from plait.attempts a where a.job_id = x.id and a.attempt = x.attempt)
      returning s.job_id, s.attempt, s.progress
    )
    update plait.attempts a set progress = r.progress from r where a.job_id = r.job_id and a.attempt = r.attempt;
  end if;

  if v_settled = cardinality(p_jobs) then
    return null;
  end if;
  -- What did not match is either a repetition of what this worker already reported, which is fine, or stale: another outcome
  -- than the one on record, or a record that others wrote in its place (rescue, a forced cancel).
  return (select array_agg(x.n::int order by x.n)
          from (select u.id, u.attempt, coalesce(u.outcome, 'succeeded') as outcome, u.n
                from unnest(p_jobs, p_attempts, p_outcomes) with ordinality u(id, attempt, outcome, n)) x
          where not exists (select from plait.attempts a where a.job_id = x.id and a.attempt = x.attempt and a.worker = p_worker
                            and coalesce(a.reason, '') not in ('cancel_forced', 'not_held')
                            and (a.status::text = x.outcome or a.status = 'canceled' and x.outcome <> 'succeeded'
                                 or a.status = 'released' and x.outcome = 'canceled')));
end $$;

CREATE FUNCTION plait._settle_succeeded(p_worker integer, p_now timestamp with time zone, p_attempt integer, p_succeeded uuid[], p_jobs uuid[], p_attempts integer[], p_results text[], p_ran_ms double precision[]) RETURNS integer
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    AS $$
declare
  v_now_s   float8 := extract(epoch from p_now);
  v_n       int;
  v_tenants uuid[];
  v_keys    text[];
  v_keyed   uuid[];
begin
  with d as (
    delete from plait.live
    where job_id = any(p_succeeded) and attempt = p_attempt and worker + 0 = p_worker
    returning job_id, tenant_id, run_at, dedupe_key
  ), a as (
    insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, result)
    select d.job_id, d.tenant_id, d.run_at,
           greatest(d.run_at, to_timestamp(v_now_s - least(greatest(0, coalesce(x.ran_ms, 3.2e12)), 3.2e12) / 1000)), p_now,
           p_attempt, p_worker, 'succeeded', 'succeeded', x.result::json
    from d join unnest(p_jobs, p_attempts, p_results, p_ran_ms) x(id, attempt, result, ran_ms)
      on x.id = d.job_id and x.attempt = p_attempt
    returning 1
  )
  select (select count(*) from a), array_agg(tenant_id) filter (where dedupe_key is not null),
         array_agg(dedupe_key) filter (where dedupe_key is not null), array_agg(job_id) filter (where dedupe_key is not null)
    into v_n, v_tenants, v_keys, v_keyed from d;
  if v_keys is not null then
    perform plait._release_keys(v_tenants, v_keys, v_keyed);
  end if;
  return v_n;
end $$;

CREATE FUNCTION plait._shares(p_tenants uuid[], p_limit integer) RETURNS TABLE(n bigint, share integer, cap integer)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
declare
  v_free boolean[];
  v_lot  float8 := random();
begin
  select array_agg(t.max_running is null
                   or pg_try_advisory_xact_lock(hashtextextended('plait.limit tenant ' || u.id, 0)) order by u.n)
    into v_free from unnest(p_tenants) with ordinality u(id, n) left join plait.tenants t on t.id = u.id;
  -- A statement of its own: its snapshot is younger than the locks, so it sees what their last holders claimed.
  return query
    with running as materialized (
      select l.tenant_id, count(*) as n from plait.live l where l.state = 'running' and l.tenant_id = any(p_tenants) group by 1
    ), s as (
      select u.n, t.weight,
             case when t.paused or not u.free then 0
                  when t.max_running is not null then greatest(0, t.max_running - coalesce(r.n, 0)) end as cap
      from unnest(p_tenants, v_free) with ordinality u(id, free, n)
      join plait.tenants t on t.id = u.id
      left join running r on r.tenant_id = u.id
    ), c as (
      -- How much of the limit falls to the tenants up to this one.
      select s.n, s.cap, p_limit * (sum(s.weight) filter (where s.cap is distinct from 0) over (order by s.n))::float8
                         / sum(s.weight) filter (where s.cap is distinct from 0) over () as upto
      from s
    )
    select c.n, least(c.cap, floor(coalesce(c.upto, 0) + v_lot) - floor(coalesce(lag(c.upto) over (order by c.n), 0) + v_lot))::int, c.cap::int
    from c;
end $$;

CREATE FUNCTION plait._take(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  v_window  int := case when exists (select from plait.tenants where weight <> 1) then 128 else least(p_limit, 128) end;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last    constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_start   uuid := coalesce(p_cursor, c_first);
  v_special boolean := exists (select from plait.tenants where paused or weight <> 1 or max_running is not null);
  v_tenants uuid[];
  v_shares  int[];
  v_caps    int[];
  v_n       int;
  v_got     int := 0;
  v_taken   int[];
  v_wrapped boolean := false;
  r         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  p_cursor := v_start;
  loop
    v_tenants := plait._tenants(p_queue, p_lane, p_cursor, case when v_wrapped then v_start else c_last end, v_window);
    if cardinality(v_tenants) < v_window and not v_wrapped and v_start > c_first then
      v_wrapped := true;
      v_tenants := v_tenants || plait._tenants(p_queue, p_lane, c_first, v_start, v_window - cardinality(v_tenants));
    end if;
    v_n := cardinality(v_tenants);
    exit when v_n = 0;

    v_caps := null;
    v_shares := array_fill(greatest(1, p_limit / v_n), array[v_n]);
    if v_special then
      select array_agg(s.share order by s.n), array_agg(s.cap order by s.n) into v_shares, v_caps
      from plait._shares(v_tenants, p_limit) s;
    end if;

    v_taken := array_fill(0, array[v_n]);
    for pass in 1..3 loop
      with w as (
        update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
        where ctid = any(case when p_lane = '' then array(
          select y.ctid from unnest(v_tenants, v_shares) u(tenant_id, share) cross join lateral (
            select l.ctid from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = '' and l.tenant_id = u.tenant_id
              and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
          limit p_limit - v_got) else array(
          select y.ctid from unnest(v_tenants, v_shares) u(tenant_id, share) cross join lateral (
            select l.ctid from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.tenant_id = u.tenant_id
              and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
          limit p_limit - v_got) end)
        returning job_id, attempt, tries, max_attempts, tenant_id
      )
      select array_agg(job_id) as jobs, array_agg(attempt) as attempts, array_agg(tries) as tries,
             array_agg(max_attempts) as max, array_agg(tenant_id) as tenants into r from w;
      if r.jobs is not null then
        o_jobs := o_jobs || r.jobs; o_attempts := o_attempts || r.attempts; o_tries := o_tries || r.tries; o_max := o_max || r.max;
        v_got := cardinality(o_jobs);
      end if;
      exit when v_got >= p_limit or v_n = 1;
      -- Whoever got less than its share has no more; the others divide what is left.
      select array_agg(v_taken[u.n] + u.got order by u.n),
             array_agg(case when u.got < u.share then 0 else greatest(0, least(u.cap - v_taken[u.n] - u.got, u.part)) end order by u.n)
        into v_taken, v_shares
        from (select w.n, w.share, w.cap, w.got, ceil((p_limit - v_got)::float8 / greatest(1, count(*) filter (where w.got >= w.share) over ()))::int as part
              from (select x.n, x.share, x.cap, (select count(*)::int from unnest(r.tenants) t where t = x.tenant_id) as got
                    from unnest(v_tenants, v_shares, v_caps) with ordinality x(tenant_id, share, cap, n)) w) u;
      exit when (select max(s) from unnest(v_shares) s) = 0;
    end loop;

    p_cursor := v_tenants[v_n];
    exit when v_got > 0 or v_n < v_window;
  end loop;
end $$;

CREATE FUNCTION plait._take_lanes(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  c_window  constant int := 64;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last    constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_cursor  uuid := coalesce(p_cursor, c_first);
  v_start   text := coalesce(p_lane_cursor, '');
  v_wrapped boolean := false;
  v_lanes   text[];
  v_hungry  boolean[];
  v_share   int;
  v_head    record;
  v_tenants uuid[];
  v_first   uuid;
  t         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  p_lane_cursor := v_start;
  for round in 1..4 loop
    v_lanes := plait._lanes(p_queue, p_lane_cursor, case when v_wrapped then v_start end, c_window);
    if cardinality(v_lanes) < c_window and not v_wrapped and v_start > '' then
      v_wrapped := true;
      v_lanes := v_lanes || plait._lanes(p_queue, '', v_start, c_window - cardinality(v_lanes));
    end if;
    exit when cardinality(v_lanes) = 0;

    v_hungry := array_fill(true, array[cardinality(v_lanes)]);
    for pass in 1..2 loop
      for i in 1..cardinality(v_lanes) loop
        exit when cardinality(o_jobs) >= p_limit;
        if pass = 1 then
          p_lane_cursor := v_lanes[i];
        end if;
        continue when not v_hungry[i];
        v_hungry[i] := false;
        v_share := p_limit - cardinality(o_jobs);
        if pass = 1 then
          v_share := least(v_share, greatest(1, p_limit / cardinality(v_lanes)));
        end if;
        if v_lanes[i] = 'suspect' then
          t := plait._take_suspect(p_worker, p_now, p_queue, p_definitions);
        else
          -- All jobs of a limited lane share their definition, and their key and tenant where they have one.
          select l.tenant_id, l.definition, l.limit_key into v_head from plait.live l
            where l.queue = p_queue and l.lane = v_lanes[i] and l.lane <> '' and l.state = 'queued'
            order by l.tenant_id, l.priority, l.run_at, l.job_id limit 1;
          continue when not found or not v_head.definition = any(p_definitions);
          v_share := least(v_share, plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now));
          continue when v_share <= 0;
          v_first := null;
          if v_head.limit_key is null then
            v_tenants := plait._tenants(p_queue, v_lanes[i], v_cursor, c_last, 128);
            v_tenants := v_tenants || plait._tenants(p_queue, v_lanes[i], c_first, v_cursor, 128 - cardinality(v_tenants));
            v_first := v_tenants[1 + floor(random() * cardinality(v_tenants))::int];
          end if;
          t := plait._take(p_worker, p_now, p_queue, v_lanes[i], v_share, p_definitions, v_first);
          continue when cardinality(t.o_jobs) = 0;
          perform plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, cardinality(t.o_jobs));
          p_cursor := t.p_cursor;
          v_hungry[i] := cardinality(t.o_jobs) = v_share;
        end if;
        o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts; o_tries := o_tries || t.o_tries; o_max := o_max || t.o_max;
      end loop;
    end loop;
    exit when cardinality(o_jobs) > 0 or cardinality(v_lanes) < c_window;
  end loop;
end $$;

CREATE FUNCTION plait._take_suspect(p_worker integer, p_now timestamp with time zone, p_queue text, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare v_head record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  if exists (select from plait.live l where l.state = 'running' and l.worker = p_worker and l.lane = 'suspect') then
    return;
  end if;
  for v_head in
    select l.job_id, l.tenant_id, l.definition, l.limit_key from plait.live l
    where l.queue = p_queue and l.lane = 'suspect' and l.state = 'queued' and l.definition = any(p_definitions)
      and not exists (select from plait.tenants s where s.id = l.tenant_id and s.paused)
    order by l.run_at, l.job_id limit 20 for update skip locked
  loop
    continue when plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now) <= 0
      or exists (select from plait._shares(array[v_head.tenant_id], 1) s where s.cap <= 0);
    perform plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, 1);
    update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
      where job_id = v_head.job_id
      returning array[job_id], array[attempt], array[tries], array[max_attempts] into o_jobs, o_attempts, o_tries, o_max;
    return;
  end loop;
end $$;

CREATE FUNCTION plait._tenant(p_tenant uuid) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $_$
declare
  v_tenant  uuid := plait._bound_tenant();
  v_setting text;
begin
  if v_tenant is not null then
    if p_tenant <> v_tenant then
      raise exception 'this login acts for its own tenant only' using errcode = 'PL004';
    end if;
    return v_tenant;
  end if;
  if p_tenant is not null then
    return p_tenant;
  end if;
  v_setting := current_setting('plait.tenant', true);
  if coalesce(v_setting, '') = '' then
    return '00000000-0000-7000-8000-000000000000';
  end if;
  if v_setting !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    raise exception 'plait.tenant is not a tenant''s id' using errcode = 'PL003';
  end if;
  return v_setting::uuid;
end $_$;

CREATE FUNCTION plait._tenant_or_all(p_tenant uuid, p_all boolean) RETURNS uuid
    LANGUAGE plpgsql STABLE
    AS $$
begin
  if not coalesce(p_all, false) then
    return plait._tenant(p_tenant);
  end if;
  if p_tenant is not null or exists (select from plait.logins where login = session_user)
     or not pg_has_role(session_user, 'plait_admin', 'member') then
    raise exception 'only plait_admin reads across tenants' using errcode = 'PL004';
  end if;
  return null;
end $$;

CREATE FUNCTION plait._tenants(p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit integer) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$
begin
  if p_lane = '' then
    return (
      with recursive t(tenant_id, n) as (
        (select l.tenant_id, 1 from plait.live l
         where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id > p_after and l.tenant_id <= p_upto
         order by l.tenant_id limit least(1, p_limit))
        union all
        (select y.tenant_id, t.n + 1 from t cross join lateral (
           select l.tenant_id from plait.live l
           where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
           order by l.tenant_id limit 1) y
         where t.n < p_limit))
      select coalesce(array_agg(tenant_id order by n), '{}') from t);
  end if;
  return (
    with recursive t(tenant_id, n) as (
      (select l.tenant_id, 1 from plait.live l
       where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.tenant_id > p_after and l.tenant_id <= p_upto
       order by l.tenant_id limit least(1, p_limit))
      union all
      (select y.tenant_id, t.n + 1 from t cross join lateral (
         select l.tenant_id from plait.live l
         where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= p_upto
         order by l.tenant_id limit 1) y
       where t.n < p_limit))
    select coalesce(array_agg(tenant_id order by n), '{}') from t);
end $$;

CREATE FUNCTION plait._tokens(p_name text, p_count integer, p_period_s double precision, p_now timestamp with time zone, p_spend integer DEFAULT 0) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare v_tokens float8;
begin
  select least(p_count, tokens + greatest(0, extract(epoch from p_now - at)) * p_count / p_period_s) into v_tokens
    from plait.buckets where name = p_name;
  v_tokens := coalesce(v_tokens, p_count) - p_spend;
  if p_spend > 0 then
    insert into plait.buckets (name, tokens, at, full_at)
    values (p_name, v_tokens, p_now, p_now + make_interval(secs => (p_count - v_tokens) * p_period_s / p_count))
    on conflict (name) do update set tokens = excluded.tokens, at = excluded.at, full_at = excluded.full_at;
  end if;
  return floor(v_tokens + 1e-9)::int;
end $$;

CREATE FUNCTION plait._uuid_floor(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((encode(SUBSTRING(int8send(((EXTRACT(epoch FROM p_at) * (1000)::numeric))::bigint) FROM 3), 'hex'::text) || '70008000000000000000'::text))::uuid;

CREATE FUNCTION plait._visible_tenant() RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  v_tenant  uuid;
  v_setting text := current_setting('plait.tenant', true);
begin
  select tenant_id into v_tenant from plait.logins where login = session_user;
  if found then
    return v_tenant;
  end if;
  if v_setting ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'
     and (pg_has_role(session_user, 'plait_client', 'member') or pg_has_role(session_user, 'plait_worker', 'member')
          or pg_has_role(session_user, 'plait_admin', 'member')) then
    return v_setting::uuid;
  end if;
  return null;
end $_$;

CREATE FUNCTION plait._wake(p_queues text[], p_always boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare v_queue text;
begin
  if not p_always and not exists (select from plait.workers where asleep) then
    return;
  end if;
  for v_queue in select distinct q from unnest(p_queues) q loop
    if p_always or (exists (select from plait.workers where asleep and v_queue = any(queues))
                    and pg_try_advisory_xact_lock(hashtextextended('plait.wake ' || v_queue, 0))) then
      perform pg_notify('plait', 'queue ' || v_queue);
    end if;
  end loop;
end $$;

CREATE FUNCTION plait._write_definition(r plait.definitions) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  insert into plait.definitions select r.*
  on conflict (name) do update set
    kind = excluded.kind, active = excluded.active, queue = excluded.queue, priority = excluded.priority,
    max_attempts = excluded.max_attempts, timeout_s = excluded.timeout_s, backoff_base_s = excluded.backoff_base_s,
    backoff_factor = excluded.backoff_factor, backoff_max_s = excluded.backoff_max_s, backoff_jitter = excluded.backoff_jitter,
    max_running = excluded.max_running, rate_count = excluded.rate_count, rate_period_s = excluded.rate_period_s,
    key_max_running = excluded.key_max_running, key_rate_count = excluded.key_rate_count,
    key_rate_period_s = excluded.key_rate_period_s, updated_at = excluded.updated_at;
  if r.max_running is not null or r.rate_count is not null then
    update plait.live set lane = 'd:' || r.name
      where job_id in (select job_id from plait.live where definition = r.name and lane = '' order by job_id for update skip locked);
  end if;
end $$;

CREATE FUNCTION plait.bind_login(p_login name, p_tenant uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  r     pg_roles;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_tenant is null then
    delete from plait.logins where login = p_login;
    return;
  end if;
  select * into r from pg_roles where rolname = p_login;
  if not found or not r.rolcanlogin then
    raise exception 'there is no login %', coalesce(quote_literal(p_login), 'null') using errcode = 'PL012';
  end if;
  select case when o.rolname = p_login then 'it is a superuser, or may bypass row-level security, make roles or replicate'
              else 'it may act as ' || o.rolname end
    into v_bad
    from pg_roles o
    where pg_has_role(r.oid, o.oid, 'member')
      and (o.rolsuper or o.rolbypassrls or o.rolcreaterole or o.rolreplication
           or o.rolname in ('plait_owner', 'plait_client', 'plait_worker', 'plait_admin'))
    order by o.rolname <> p_login, o.rolname limit 1;
  if v_bad is not null then
    raise exception 'login % cannot be bound to a tenant: %. Give it the role plait_tenant alone', quote_literal(p_login), v_bad
      using errcode = 'PL012';
  end if;
  insert into plait.logins (login, tenant_id) values (p_login, p_tenant)
  on conflict (login) do update set tenant_id = excluded.tenant_id;
exception when foreign_key_violation then
  raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
end $$;

CREATE FUNCTION plait.cancel(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_reason text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_live   plait.live;
  v_status text;
begin
  perform plait._require_read_committed();
  select * into v_live from plait.live where job_id = p_job and tenant_id = v_tenant for update;
  if not found then
    select status::text into v_status from plait.job where id = p_job and tenant_id = v_tenant;
    if not found then
      raise exception 'there is no job %', p_job using errcode = 'PL008';
    end if;
    return v_status;
  end if;
  if v_live.state = 'running' then
    update plait.live set cancel_requested = plait.now(), cancel_reason = p_reason where job_id = p_job and cancel_requested is null;
    perform pg_notify('plait', 'cancel ' || v_live.worker);
    return 'running';
  end if;
  perform plait._end(v_live, plait.now(), 'canceled', 'canceled', 'canceled', p_reason);
  return 'canceled';
end $$;

CREATE FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer DEFAULT 1) RETURNS TABLE(job_id uuid, attempt integer, tries integer, max_attempts integer, tenant_id uuid, definition text, payload text, timeout_s double precision, correlation_id text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_definitions text[];
  v_cursor      jsonb;
  c             record;
begin
  perform plait._require_read_committed();
  select w.definitions, w.cursors -> p_queue into v_definitions, v_cursor
    from plait.workers w where w.id = p_worker and w.state = 'alive' for key share;
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;
  c := plait._claim(p_worker, plait.now(), p_queue, coalesce(p_limit, 1), v_definitions, (v_cursor ->> 0)::uuid, v_cursor ->> 1);
  -- Remembered for a worker that has no memory of its own between calls: this is what keeps its claims fair over tenants.
  perform from plait.workers where id = p_worker for no key update skip locked;
  if found and jsonb_build_array(c.p_cursor, c.p_lane_cursor) is distinct from v_cursor then
    update plait.workers set cursors = cursors || jsonb_build_object(p_queue, jsonb_build_array(c.p_cursor, c.p_lane_cursor))
      where id = p_worker;
  end if;
  return query
    select x.id, x.attempt, x.tries::int, x.max::int, j.tenant_id, j.definition, j.payload::text, j.timeout_s, j.correlation_id
    from unnest(c.o_jobs, c.o_attempts, c.o_tries, c.o_max) x(id, attempt, tries, max) join plait.jobs j on j.id = x.id
    where j.id = any(c.o_jobs)
    order by j.priority, j.id;
end $$;

CREATE FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_worker record;
  v_asked  int := 0;
  c        record;
begin
  perform plait._require_read_committed();
  if cardinality(p_jobs) > 0 then
    perform plait._check_outcomes(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
    o_stale := plait._settle(p_worker, v_now, p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
  end if;

  select definitions, asleep into v_worker from plait.workers where id = p_worker and state = 'alive' for key share;
  o_alive := found;
  if not o_alive then
    return;
  end if;

  o_cursors := p_cursors;
  o_lane_cursors := p_lane_cursors;
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  for i in 1..coalesce(cardinality(p_queues), 0) loop
    continue when coalesce(p_limits[i], 0) <= 0;
    v_asked := v_asked + p_limits[i];
    c := plait._claim(p_worker, v_now, p_queues[i], p_limits[i], v_worker.definitions, p_cursors[i], p_lane_cursors[i]);
    o_cursors[i] := c.p_cursor;
    o_lane_cursors[i] := c.p_lane_cursor;
    if cardinality(c.o_jobs) > 0 then
      o_jobs := o_jobs || c.o_jobs; o_attempts := o_attempts || c.o_attempts; o_tries := o_tries || c.o_tries; o_max := o_max || c.o_max;
    end if;
  end loop;

  if cardinality(o_jobs) > 0 then
    select f.* into o_jobs, o_attempts, o_tries, o_max, o_tenants, o_definitions, o_queues, o_payloads, o_timeouts, o_correlations
      from plait._fetch(o_jobs, o_attempts, o_tries, o_max) f;
  end if;

  -- Under a trickle the flag stays, so that a worker does not write its row for every job; only a full batch clears it.
  if v_worker.asleep and v_asked > 0 and cardinality(o_jobs) = v_asked then
    update plait.workers set asleep = false where id = p_worker;
  elsif p_sleep and not v_worker.asleep and cardinality(o_jobs) = 0 then
    update plait.workers set asleep = true where id = p_worker;
  end if;

  select array_agg(l.job_id), array_agg(l.attempt) into o_cancel_jobs, o_cancel_attempts
    from plait.live l where l.worker = p_worker and l.cancel_requested is not null;
end $$;

CREATE FUNCTION plait.define(p_definitions json) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  r         plait.definitions;
  v_old     plait.definitions;
  v_changed int := 0;
  v_bad     text;
begin
  perform plait._require_read_committed();
  select min(k) into v_bad from json_array_elements(p_definitions) d, json_object_keys(d) k
    where k not in ('name', 'kind', 'queue', 'priority', 'max_attempts', 'timeout_s', 'backoff_base_s', 'backoff_factor', 'backoff_max_s',
                    'backoff_jitter', 'max_running', 'rate_count', 'rate_period_s', 'key_max_running', 'key_rate_count', 'key_rate_period_s');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  for r in
    select name, coalesce(kind, 'function'), true, coalesce(queue, 'default'), coalesce(priority, 100), coalesce(max_attempts, 5),
           coalesce(timeout_s, 3600), coalesce(backoff_base_s, 1), coalesce(backoff_factor, 2), coalesce(backoff_max_s, 3600),
           coalesce(backoff_jitter, 0.2), max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s,
           plait.now()
    from json_populate_recordset(null::plait.definitions, p_definitions) order by name
  loop
    select * into v_old from plait.definitions where name = r.name;
    if found then
      r.active := v_old.active;
      v_old.updated_at := r.updated_at;
      continue when v_old = r;
    end if;
    perform plait._write_definition(r);
    v_changed := v_changed + 1;
  end loop;
  return v_changed;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid definition: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.diagnose() RETURNS TABLE(level text, code text, finding text, advice text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
begin
  return query
    select 'problem', 'unknown_definition',
           format('%s queued jobs of %s on queue %s: workers serve the queue, but none knows the definition', s.n, s.definition, s.queue),
           'start a worker whose code has this job, or cancel them'
    from (select l.queue, l.definition, count(*) as n from plait.live l where l.state = 'queued' group by 1, 2) s
    where exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues))
      and not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues) and s.definition = any(w.definitions));
  return query
    select 'problem', 'no_worker', format('%s queued jobs on queue %s, and no living worker serves it', s.n, s.queue),
           format('start one: plait worker APP --queues %s', s.queue)
    from (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
    where not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues));
  return query
    select 'warning', 'queue_paused', format('queue %s is paused with %s queued jobs', q.name, s.n), format('plait queues resume %s', q.name)
    from plait.queues q join (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.queue = q.name
    where q.paused;
  return query
    select 'warning', 'tenant_paused', format('tenant %s is paused with %s jobs', t.slug, s.n), format('plait tenants set %s --resume', t.slug)
    from plait.tenants t join (select l.tenant_id, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.tenant_id = t.id
    where t.paused;
  return query
    select 'warning', 'stale_worker', format('worker %s on %s was last seen %s s ago', w.id, w.host, extract(epoch from plait.now() - w.seen_at)::int),
           'it is declared lost when its lease ends; look at its machine'
    from plait.workers w where w.state = 'alive' and w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2);
  return query
    select 'problem', 'no_leader', 'no leader: delayed jobs and retries do not start, lost workers are not noticed',
           'run plait leader, or plait worker without --no-leader'
    where not exists (select from plait.leader where expires_at > plait.now())
      and exists (select from plait.live);
  return query
    select 'problem', 'overdue', format('%s scheduled jobs are overdue, the oldest by %s s', count(*), extract(epoch from plait.now() - min(l.run_at))::int),
           'the leader promotes them; is one running?'
    from plait.live l where l.state = 'scheduled' and l.run_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'warning', 'dead_letters', format('%s jobs failed or are dead letters', count(*)), 'plait jobs list --all-tenants --status dead_letter'
    from (select from plait.attempts a where a.final in ('failed', 'dead_letter')
            and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
            and not exists (select from plait.live l where l.job_id = a.job_id) limit 10000) s having count(*) > 0;
  return query
    select 'warning', 'old_transaction', format('a transaction is open since %s s: dead rows pile up behind it', extract(epoch from clock_timestamp() - a.xact_start)::int),  -- clock: the server's own time stamps
           format('end it: pid %s, application %s', a.pid, coalesce(nullif(a.application_name, ''), '?'))
    from pg_stat_activity a where a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
      and a.backend_xmin is not null and a.xact_start < clock_timestamp() - interval '60 s';  -- clock: as above
  return query
    select 'warning', 'dead_rows', format('plait.live has %s dead rows beside %s live ones', s.n_dead_tup, s.n_live_tup), 'vacuum plait.live; look for old transactions'
    from pg_stat_user_tables s where s.relid = 'plait.live'::regclass and s.n_dead_tup > 50000 and s.n_dead_tup > 5 * s.n_live_tup;
end $$;

CREATE FUNCTION plait.elect(p_holder text, p_lease_s double precision DEFAULT 10, p_resign boolean DEFAULT false, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  if p_resign then
    update plait.leader set expires_at = v_now where name = 'main' and holder = p_holder and expires_at > v_now;
  else
    insert into plait.leader as l (name, holder, term, expires_at)
    values ('main', p_holder, 1, v_now + make_interval(secs => p_lease_s))
    on conflict (name) do update set holder = p_holder, expires_at = excluded.expires_at,
      term = l.term + (l.holder <> p_holder or l.expires_at <= v_now)::int
    where l.holder = p_holder or l.expires_at <= v_now;
  end if;
  select l.holder = p_holder and l.expires_at > v_now, l.term, l.holder into o_leads, o_term, o_holder from plait.leader l where l.name = 'main';
  o_leads := coalesce(o_leads, false);
end $$;

CREATE FUNCTION plait.enqueue(definition text, payload json DEFAULT '{}'::json, tenant text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, scheduled_for timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, dedupe_key text DEFAULT NULL::text, idempotency_key text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_id  uuid := coalesce(enqueue.id, plait.uuidv7());
  v_old uuid;
begin
  select e.existing into v_old from plait.enqueue_many(
    array[v_id], array[enqueue.definition], array[enqueue.payload::text],
    p_tenants => array[case when enqueue.tenant is null then plait._tenant(null) else plait.tenant_id(enqueue.tenant) end],
    p_queues => array[enqueue.queue], p_priorities => array[enqueue.priority], p_max_attempts => array[enqueue.max_attempts],
    p_scheduled_for => array[enqueue.scheduled_for], p_delays_s => array[extract(epoch from enqueue.delay)::float8],
    p_dedupe_keys => case when enqueue.dedupe_key is not null then array[enqueue.dedupe_key] end,
    p_idempotency_keys => case when enqueue.idempotency_key is not null then array[enqueue.idempotency_key] end,
    p_limit_keys => array[enqueue.limit_key], p_correlation_ids => array[enqueue.correlation_id]) e;
  return coalesce(v_old, v_id);
end $$;

CREATE FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[] DEFAULT NULL::uuid[], p_queues text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_max_attempts integer[] DEFAULT NULL::integer[], p_scheduled_for timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_delays_s double precision[] DEFAULT NULL::double precision[], p_timeouts_s double precision[] DEFAULT NULL::double precision[], p_dedupe_keys text[] DEFAULT NULL::text[], p_idempotency_keys text[] DEFAULT NULL::text[], p_idempotency_ttls_s double precision[] DEFAULT NULL::double precision[], p_limit_keys text[] DEFAULT NULL::text[], p_correlation_ids text[] DEFAULT NULL::text[], p_source text DEFAULT 'manual'::text, p_in_transaction boolean DEFAULT true) RETURNS TABLE(requested uuid, existing uuid)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now      timestamptz := plait.now();
  v_n        int := cardinality(p_ids);
  v_tenant   uuid := plait._bound_tenant();
  v_ids      uuid[] := p_ids;
  v_payloads json[];
  v_metered  uuid[];
  v_bad      text;
  v_quota    boolean;
  v_plain    boolean;
  v_definition plait.definitions;
  v_queues   text[];
  v_there    uuid[];
  r          record;
begin
  if v_tenant is not null then
    if exists (select from unnest(p_tenants) t where t <> v_tenant) then
      raise exception 'this login acts for its own tenant only' using errcode = 'PL004';
    end if;
  elsif p_tenants is null then
    v_tenant := plait._tenant(null);
  elsif cardinality(p_tenants) = 1 then
    v_tenant := p_tenants[1];
  end if;
  v_plain := v_tenant is not null and cardinality(p_definitions) = 1 and coalesce(cardinality(p_queues), 1) = 1
    and coalesce(cardinality(p_priorities), 1) = 1 and coalesce(cardinality(p_max_attempts), 1) = 1
    and num_nonnulls(p_scheduled_for, p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s,
                     p_limit_keys, p_correlation_ids) = 0;
  v_payloads := plait._check_jobs(
    v_now, p_ids, p_tenants, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, p_scheduled_for, p_delays_s,
    p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s, p_limit_keys, p_correlation_ids, p_source);

  if v_tenant is not null then
    select max_queued is not null into v_quota from plait.tenants where id = v_tenant;
    v_bad := case when v_quota is null then v_tenant::text end;
  else
    select min(x.tenant_id::text) filter (where t.id is null), bool_or(t.max_queued is not null) into v_bad, v_quota
      from (select distinct u as tenant_id from unnest(p_tenants) u) x left join plait.tenants t on t.id = x.tenant_id;
  end if;
  if v_bad is not null or array_position(p_tenants, null) is not null and v_tenant is null then
    raise exception 'there is no tenant %', coalesce(v_bad, 'null') using errcode = 'PL003';
  end if;

  if v_plain and not v_quota then
    select * into v_definition from plait.definitions where name = p_definitions[1];
    if v_definition.active is not false then
      begin
        v_queues := array[coalesce(p_queues[1], v_definition.queue, 'default')];
        perform plait._enqueue_plain(
          v_now, p_ids, v_payloads, v_tenant, p_definitions[1], v_queues[1], coalesce(p_priorities[1], v_definition.priority, 100),
          coalesce(p_max_attempts[1], v_definition.max_attempts, 5), p_source,
          case when v_definition.max_running is null and v_definition.rate_count is null then '' else 'd:' || p_definitions[1] end);
        perform plait._wake(v_queues, p_in_transaction);
        return;
      exception when unique_violation then
        null;  -- some are there already: which, is found out below
      end;
    end if;
  end if;

  p_tenants := plait._each(p_tenants, v_n);
  p_definitions := plait._each(p_definitions, v_n);
  p_queues := plait._each(p_queues, v_n);
  p_priorities := plait._each(p_priorities, v_n);
  p_max_attempts := plait._each(p_max_attempts, v_n);
  if v_quota then
    for r in
      select t.id from plait.tenants t
      where t.max_queued is not null and t.id in (select coalesce(v_tenant, u) from unnest(p_ids, p_tenants) i(id, u)) order by t.id
    loop
      perform plait._reserve(r.id, 0);   -- locks; who is here after us sees what we make
      perform plait._reserve(r.id, plait._count_new(r.id, v_now, p_ids, case when v_tenant is null then p_tenants end, p_definitions,
                                                    p_dedupe_keys, p_idempotency_keys));
    end loop;
  end if;

  if exists (select from plait.definitions d where not d.active and d.name = any(p_definitions)) then
    select min(d.name) into v_bad from unnest(p_ids, p_definitions) n(id, name) join plait.definitions d on d.name = n.name
      where not d.active and not exists (select from plait.jobs j where j.id = n.id);
    if v_bad is not null then
      raise exception 'definition % is inactive: it takes no new jobs', quote_literal(v_bad) using errcode = 'PL007';
    end if;
  end if;

  if p_idempotency_keys is not null or p_dedupe_keys is not null then
    perform plait._require_read_committed();
    for r in select k.requested, k.existing from plait._hold_keys(v_now, v_tenant, p_ids, p_tenants, p_definitions, p_payloads,
                                            p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s) k loop
      v_ids := array_remove(v_ids, r.requested);
      requested := r.requested;
      existing := r.existing;
      return next;
    end loop;
    if cardinality(v_ids) = 0 then
      return;
    end if;
  end if;

  -- Once in good faith. What is there already was sent again, or is somebody else's, which looks like any bad id: that is found
  -- out only when it happens, since to ask first, or ON CONFLICT, costs every row.
  for v_pass in 1..2 loop
    begin
      with j as (
        insert into plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue,
                                source, correlation_id, dedupe_key, idempotency_key, limit_key, payload)
        select i.id, coalesce(v_tenant, i.tenant_id), v_now, greatest(i.scheduled_for, v_now + make_interval(secs => i.delay_s)),
               i.timeout_s, coalesce(i.priority, d.priority, 100), coalesce(i.max_attempts, d.max_attempts, 5), i.definition,
               coalesce(i.queue, d.queue, 'default'), p_source, i.correlation_id, i.dedupe_key, i.idempotency_key, i.limit_key, i.payload
        from unnest(p_ids, p_tenants, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts, p_scheduled_for,
                    p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_limit_keys, p_correlation_ids)
             i(id, tenant_id, definition, payload, queue, priority, max_attempts, scheduled_for,
               delay_s, timeout_s, dedupe_key, idempotency_key, limit_key, correlation_id)
        left join plait.definitions d on d.name = i.definition
        where cardinality(v_ids) = cardinality(p_ids) or i.id = any(v_ids)
        returning id, tenant_id, scheduled_for, priority, max_attempts, definition, queue, dedupe_key, limit_key
      ), l as (
        -- From what the first insert gives back, and not joined to what was asked: that join would be many to many.
        insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition,
                                dedupe_key, limit_key)
        select j.id, j.tenant_id, case when j.scheduled_for > v_now then j.scheduled_for else v_now end, j.priority, j.max_attempts,
               case when j.scheduled_for > v_now then 'scheduled' else 'queued' end::plait.status, t.max_queued is not null, j.queue,
               case when j.limit_key is not null then 'k:' || j.definition || ':' || j.tenant_id || ':' || j.limit_key
                    when d.max_running is not null or d.rate_count is not null then 'd:' || j.definition
                    else '' end,
               j.definition, j.dedupe_key, j.limit_key
        from j
        left join plait.definitions d on d.name = j.definition
        join plait.tenants t on t.id = j.tenant_id
        returning queue, state, tenant_id, metered
      )
      select array_agg(distinct queue) filter (where state = 'queued'), array_agg(tenant_id) filter (where metered)
        into v_queues, v_metered from l;
      exit;
    exception when unique_violation then
      v_there := array(select j.id from plait.jobs j where j.id = any(v_ids));
      if cardinality(v_there) = 0 and v_pass = 2 then
        raise;
      end if;
      if (select count(distinct i) from unnest(p_ids) i) < v_n
         or exists (select from unnest(p_ids, p_tenants, p_definitions) i(id, tenant_id, definition)
                    left join plait.jobs j on j.id = i.id and j.tenant_id = coalesce(v_tenant, i.tenant_id) and j.definition = i.definition
                    where i.id = any(v_there) and j.id is null) then
        raise exception 'a job''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
      end if;
      v_ids := array(select i from unnest(v_ids) i where not i = any(v_there));
      if cardinality(v_ids) = 0 then
        return;
      end if;
    end;
  end loop;

  if v_metered is not null then
    for r in select t as id, count(*)::int as n from unnest(v_metered) t group by t order by t loop
      perform plait._reserve(r.id, r.n, true);
    end loop;
  end if;
  if v_queues is not null then
    perform plait._wake(v_queues, p_in_transaction);
  end if;
end $$;

CREATE FUNCTION plait.explain_job(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(code text, explanation text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now    timestamptz := plait.now();
  j        plait.job;
  t        plait.tenants;
  q        plait.queues;
  d        plait.definitions;
  v_ahead  bigint;
  v_n      bigint;
begin
  select * into j from plait.get_job(p_job, p_tenant, p_all);
  case j.status
    when 'scheduled' then
      return query select 'scheduled', format('it is due in %s', date_trunc('second', j.run_at - v_now));
      if j.attempt > 0 then
        return query select 'retrying', format('%s of %s tries have failed; the last: %s', j.tries, j.max_attempts, coalesce(j.error, j.reason, '?'));
      end if;
    when 'running' then
      return query select 'running', format('worker %s runs it since %s', j.worker, date_trunc('second', v_now - j.claimed_at));
      if j.cancel_requested is not null then
        return query select 'cancel_requested', 'it was asked to stop';
      end if;
      return;
    when 'waiting' then
      return query select 'waiting', 'it waits for something that it asked for';
      return;
    when 'queued' then
      null;
    else
      return query select j.status::text, concat_ws(': ', format('it ended as %s', j.status), j.reason, j.error);
      return;
  end case;

  select * into t from plait.tenants where id = j.tenant_id;
  select * into q from plait.queues where name = j.queue;
  select * into d from plait.definitions where name = j.definition;
  if t.paused then
    return query select 'tenant_paused', format('tenant %s is paused', t.slug);
  end if;
  if q.paused then
    return query select 'queue_paused', format('queue %s is paused', q.name);
  end if;
  if not exists (select from plait.workers w where w.state = 'alive' and j.queue = any(w.queues)) then
    return query select 'no_worker', format('no living worker serves queue %s', j.queue);
  elsif not exists (select from plait.workers w where w.state = 'alive' and j.queue = any(w.queues) and j.definition = any(w.definitions)) then
    return query select 'unknown_definition', format('workers serve queue %s, but none of them knows the definition %s', j.queue, j.definition);
  end if;
  if j.status <> 'queued' then
    return;
  end if;
  if q.max_running is not null then
    select count(*) into v_n from plait.live l where l.state = 'running' and l.queue = j.queue;
    if v_n >= q.max_running then
      return query select 'queue_full', format('queue %s runs %s of at most %s jobs', j.queue, v_n, q.max_running);
    end if;
  end if;
  if t.max_running is not null then
    select count(*) into v_n from plait.live l where l.state = 'running' and l.tenant_id = t.id;
    if v_n >= t.max_running then
      return query select 'tenant_full', format('tenant %s runs %s of at most %s jobs', t.slug, v_n, t.max_running);
    end if;
  end if;
  if d.max_running is not null then
    select count(*) into v_n from plait.live l where l.definition = j.definition and l.state = 'running' and l.lane <> '';
    if v_n >= d.max_running then
      return query select 'definition_full', format('%s of at most %s jobs of %s run', v_n, d.max_running, j.definition);
    end if;
  end if;
  if j.limit_key is not null and d.key_max_running is not null then
    select count(*) into v_n from plait.live l
      where l.definition = j.definition and l.tenant_id = j.tenant_id and l.limit_key = j.limit_key and l.state = 'running' and l.lane <> '';
    if v_n >= d.key_max_running then
      return query select 'key_full', format('%s of at most %s jobs with key %s run', v_n, d.key_max_running, j.limit_key);
    end if;
  end if;
  if d.rate_count is not null or d.key_rate_count is not null or q.rate_count is not null then
    return query select 'rate_limited', 'a rate limit applies to it';
  end if;
  if j.lane = 'suspect' then
    return query select 'suspect', 'its worker was lost while it ran: it runs when a worker has no other such job';
  end if;
  select count(*) into v_ahead from (
    select from plait.live l where l.queue = j.queue and l.lane = j.lane and l.tenant_id = j.tenant_id and l.state = 'queued'
      and (l.priority, l.run_at, l.job_id) < (j.priority, j.run_at, j.id) limit 10000) s;
  if v_ahead > 0 then
    return query select 'behind', format('%s%s jobs of its tenant are before it', v_ahead, case when v_ahead = 10000 then ' or more' else '' end);
  else
    return query select 'next', 'it is the next of its tenant';
  end if;
end $$;

CREATE TABLE plait.attempts (
    job_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    worker integer,
    status plait.ending NOT NULL,
    final plait.status,
    pid integer,
    exit_code integer,
    reason text,
    error text,
    traceback text,
    result json,
    progress json,
    CONSTRAINT attempts_final CHECK ((final = ANY (ARRAY['succeeded'::plait.status, 'failed'::plait.status, 'dead_letter'::plait.status, 'canceled'::plait.status, 'skipped'::plait.status])))
);

ALTER TABLE ONLY plait.attempts FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.jobs (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    scheduled_for timestamp with time zone,
    timeout_s double precision,
    priority smallint NOT NULL,
    max_attempts smallint NOT NULL,
    definition text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    source text DEFAULT 'manual'::text NOT NULL,
    correlation_id text,
    dedupe_key text COLLATE pg_catalog."C",
    idempotency_key text COLLATE pg_catalog."C",
    limit_key text COLLATE pg_catalog."C",
    payload json NOT NULL,
    CONSTRAINT jobs_source_check CHECK ((source = ANY (ARRAY['manual'::text, 'event'::text, 'schedule'::text, 'system'::text])))
);

ALTER TABLE ONLY plait.jobs FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.running_state (
    job_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    attempt integer NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    progress json
)
WITH (fillfactor='50');

ALTER TABLE ONLY plait.running_state FORCE ROW LEVEL SECURITY;

CREATE VIEW plait.job WITH (security_invoker='true') AS
 SELECT j.id,
    j.tenant_id,
    j.definition,
    j.queue,
    j.priority,
    j.source,
    j.correlation_id,
    j.dedupe_key,
    j.idempotency_key,
    j.limit_key,
    j.payload,
    j.created_at,
    j.scheduled_for,
    j.timeout_s,
    COALESCE(l.state, a.final) AS status,
    COALESCE(l.attempt, a.attempt) AS attempt,
    l.tries,
    COALESCE(l.max_attempts, j.max_attempts) AS max_attempts,
        CASE
            WHEN (l.state = ANY (ARRAY['scheduled'::plait.status, 'queued'::plait.status])) THEN l.run_at
            ELSE NULL::timestamp with time zone
        END AS run_at,
        CASE
            WHEN (l.state = 'running'::plait.status) THEN l.worker
            ELSE NULL::integer
        END AS worker,
        CASE
            WHEN (l.state = 'running'::plait.status) THEN l.run_at
            ELSE NULL::timestamp with time zone
        END AS claimed_at,
    l.cancel_requested,
    l.lane,
        CASE
            WHEN (l.job_id IS NULL) THEN a.finished_at
            ELSE NULL::timestamp with time zone
        END AS finished_at,
        CASE
            WHEN (l.job_id IS NULL) THEN a.result
            ELSE NULL::json
        END AS result,
    a.reason,
    a.error,
        CASE
            WHEN (l.state = 'running'::plait.status) THEN r.progress
            ELSE a.progress
        END AS progress
   FROM (((plait.jobs j
     LEFT JOIN plait.live l ON ((l.job_id = j.id)))
     LEFT JOIN LATERAL ( SELECT t.job_id,
            t.tenant_id,
            t.claimed_at,
            t.started_at,
            t.finished_at,
            t.attempt,
            t.worker,
            t.status,
            t.final,
            t.pid,
            t.exit_code,
            t.reason,
            t.error,
            t.traceback,
            t.result,
            t.progress
           FROM plait.attempts t
          WHERE (t.job_id = j.id)
          ORDER BY t.attempt DESC
         LIMIT 1) a ON (true))
     LEFT JOIN plait.running_state r ON (((r.job_id = j.id) AND (l.state = 'running'::plait.status) AND (r.attempt = l.attempt))));

CREATE FUNCTION plait.get_job(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS SETOF plait.job
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query select * from plait.job j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
end $$;

CREATE FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) RETURNS TABLE(job_id uuid, status text, result text, reason text, error text, traceback text, attempt integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare v_tenants uuid[];
begin
  -- Apart from the lookup: a join would refuse a foreign tenant only where the job exists, and so tell that it does.
  select array_agg(plait._tenant(u.tenant_id) order by u.n) into v_tenants
    from unnest(p_jobs, p_tenants) with ordinality u(id, tenant_id, n);
  return query
    select x.id, a.final::text, a.result::text, a.reason, a.error, a.traceback, a.attempt
    from unnest(p_jobs, v_tenants) x(id, tenant_id)
    left join plait.jobs j on j.id = x.id and j.tenant_id = x.tenant_id
    left join lateral (select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
    where j.id is null or (a.final is not null and not exists (select from plait.live l where l.job_id = x.id));
end $$;

CREATE FUNCTION plait.heartbeat(p_worker integer, p_running integer DEFAULT 0, p_held uuid[] DEFAULT NULL::uuid[], p_held_attempts integer[] DEFAULT NULL::integer[], OUT o_running integer, OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_released integer, OUT o_gone uuid[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  update plait.workers set seen_at = v_now, expires_at = v_now + make_interval(secs => lease_s), running = p_running
    where id = p_worker and state = 'alive';
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;

  o_released := 0;
  if p_held is not null then
    o_released := plait._give_back(p_worker, v_now, 'not_held', p_held, p_held_attempts);
    select array_agg(h.id) into o_gone from unnest(p_held, p_held_attempts) h(id, attempt)
      where not exists (select from plait.live l where l.job_id = h.id and l.attempt = h.attempt and l.worker = p_worker);
  end if;

  select count(*), array_agg(job_id) filter (where cancel_requested is not null),
         array_agg(attempt) filter (where cancel_requested is not null)
    into o_running, o_cancel_jobs, o_cancel_attempts
    from plait.live where worker = p_worker and state = 'running';
end $$;

CREATE FUNCTION plait.leave(p_worker integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now  timestamptz := plait.now();
  v_back int;
begin
  perform plait._require_read_committed();
  perform from plait.workers where id = p_worker and state = 'alive' for update;
  if not found then
    return 0;
  end if;
  v_back := plait._give_back(p_worker, v_now, 'left', '{}', '{}');
  update plait.workers set asleep = false, running = 0, seen_at = v_now,
    state = case when exists (select from plait.live where worker = p_worker and state = 'running') then 'lost' else 'gone' end
  where id = p_worker;
  return v_back;
end $$;

CREATE FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(attempt integer, status text, final text, worker integer, host text, pid integer, claimed_at timestamp with time zone, started_at timestamp with time zone, finished_at timestamp with time zone, exit_code integer, reason text, error text, traceback text, result text, progress text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select a.attempt, a.status::text, a.final::text, a.worker, w.host, coalesce(a.pid, w.pid), a.claimed_at, a.started_at, a.finished_at,
           a.exit_code, a.reason, a.error, a.traceback, a.result::text, a.progress::text
    from plait.attempts a left join plait.workers w on w.id = a.worker where a.job_id = p_job order by a.attempt;
end $$;

CREATE FUNCTION plait.list_definitions() RETURNS SETOF plait.definitions
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$ select * from plait.definitions order by name $$;

CREATE FUNCTION plait.list_jobs(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_statuses text[] DEFAULT NULL::text[], p_queue text DEFAULT NULL::text, p_definition text DEFAULT NULL::text, p_correlation_id text DEFAULT NULL::text, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS SETOF plait.job
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
declare
  v_tenant   uuid := plait._tenant_or_all(p_tenant, p_all);
  v_statuses plait.status[];
  v_before   uuid := coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  v_limit    int := least(greatest(p_limit, 1), 1000);
begin
  begin
    v_statuses := p_statuses::plait.status[];
  exception when invalid_text_representation then
    raise exception 'a status is one of %', array_to_string(enum_range(null::plait.status), ', ') using errcode = 'PL001';
  end;

  if v_statuses <@ '{running,scheduled,waiting}' then
    return query
      select j.* from (
        select l.job_id from plait.live l
        where l.state = any(v_statuses) and l.state <> 'queued' and (v_tenant is null or l.tenant_id = v_tenant)
          and l.job_id < v_before and (p_queue is null or l.queue = p_queue) and (p_definition is null or l.definition = p_definition)
        order by l.job_id desc) s
      cross join lateral (select v.* from plait.job v where v.id = s.job_id) j
      where p_correlation_id is null or j.correlation_id = p_correlation_id
      order by s.job_id desc limit v_limit;
  elsif v_statuses <@ '{failed,dead_letter}' then
    return query
      select j.* from (
        select distinct a.tenant_id, a.job_id from plait.attempts a
        where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant) and a.job_id < v_before) s
      cross join lateral (select v.* from plait.job v where v.id = s.job_id) j
      where j.status = any(v_statuses) and (p_queue is null or j.queue = p_queue)
        and (p_definition is null or j.definition = p_definition) and (p_correlation_id is null or j.correlation_id = p_correlation_id)
      order by s.job_id desc limit v_limit;
  else
    return query
      select v.* from (
        select j.id from plait.jobs j
        where (v_tenant is null or j.tenant_id = v_tenant) and j.id < v_before and (p_queue is null or j.queue = p_queue)
          and (p_definition is null or j.definition = p_definition) and (p_correlation_id is null or j.correlation_id = p_correlation_id)
        order by j.id desc) s
      cross join lateral (select w.* from plait.job w where w.id = s.id) v
      where v_statuses is null or v.status = any(v_statuses)
      order by s.id desc limit v_limit;
  end if;
end $$;

CREATE FUNCTION plait.list_queues() RETURNS TABLE(name text, paused boolean, queued bigint, scheduled bigint, running bigint, waiting bigint, oldest_s double precision, workers bigint, max_running integer, rate_count integer, rate_period_s double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  with l as (
    select queue, count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'scheduled') as scheduled,
           count(*) filter (where state = 'running') as running, count(*) filter (where state = 'waiting') as waiting,
           min(run_at) filter (where state = 'queued') as oldest
    from plait.live group by queue
  ), w as (
    select q as queue, count(*) as workers from plait.workers, unnest(queues) q where state = 'alive' group by q
  ), n as (
    select name from plait.queues union select queue from l union select queue from w
  )
  select n.name, coalesce(s.paused, false), coalesce(l.queued, 0), coalesce(l.scheduled, 0), coalesce(l.running, 0), coalesce(l.waiting, 0),
         case when l.oldest is not null then greatest(0, extract(epoch from plait.now() - l.oldest))::float8 end, coalesce(w.workers, 0), s.max_running, s.rate_count, s.rate_period_s
  from n left join l on l.queue = n.name left join w on w.queue = n.name left join plait.queues s on s.name = n.name
  order by n.name
$$;

CREATE FUNCTION plait.list_tenants() RETURNS TABLE(id uuid, slug text, name text, time_zone text, created_at timestamp with time zone, paused boolean, weight integer, max_running integer, max_queued integer, queued bigint, running bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select t.id, t.slug, t.name, t.time_zone, t.created_at, t.paused, t.weight::int, t.max_running, t.max_queued,
         coalesce(l.queued, 0), coalesce(l.running, 0)
  from plait.tenants t
  left join (select tenant_id, count(*) filter (where state <> 'running') as queued, count(*) filter (where state = 'running') as running
             from plait.live group by tenant_id) l on l.tenant_id = t.id
  order by t.slug
$$;

CREATE FUNCTION plait.list_workers(p_since interval DEFAULT '01:00:00'::interval) RETURNS TABLE(id integer, state text, host text, pid integer, version text, queues text[], definitions text[], running integer, metadata text, started_at timestamp with time zone, seen_at timestamp with time zone, expires_at timestamp with time zone, seen_s double precision, stale boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select id, state, host, pid, version, queues, definitions, running, metadata::text, started_at, seen_at, expires_at,
         greatest(0, extract(epoch from plait.now() - seen_at))::float8, state = 'alive' and seen_at < plait.now() - make_interval(secs => lease_s / 2)
  from plait.workers where state = 'alive' or seen_at > plait.now() - p_since order by id
$$;

CREATE FUNCTION plait.progress(p_worker integer, p_job uuid, p_attempt integer, p_progress json) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid;
begin
  perform plait._require_read_committed();
  select tenant_id into v_tenant from plait.live
    where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker for key share;
  if not found then
    return false;
  end if;
  insert into plait.running_state (job_id, tenant_id, attempt, updated_at, progress)
  values (p_job, v_tenant, p_attempt, plait.now(), p_progress)
  on conflict (job_id) do update set attempt = excluded.attempt, updated_at = excluded.updated_at, progress = excluded.progress
    where running_state.attempt <= excluded.attempt;
  return true;
end $$;

CREATE FUNCTION plait.promote(p_limit integer DEFAULT 1000, OUT o_promoted integer, OUT o_next_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[];
begin
  perform plait._require_read_committed();
  with due as materialized (
    select job_id from plait.live where state = 'scheduled' and run_at <= v_now order by run_at limit p_limit for update skip locked
  ), u as (
    update plait.live l set state = 'queued', run_at = v_now from due where l.job_id = due.job_id returning l.queue
  )
  select count(*), array_agg(distinct queue) into o_promoted, v_queues from u;
  if o_promoted > 0 then
    perform plait._wake(v_queues);
  end if;
  select case when min(run_at) is not null then greatest(0, extract(epoch from min(run_at) - v_now)) end
    into o_next_s from plait.live where state = 'scheduled';
end $$;

CREATE FUNCTION plait.prune(p_succeeded interval DEFAULT NULL::interval, p_skipped interval DEFAULT NULL::interval, p_canceled interval DEFAULT NULL::interval, p_failed interval DEFAULT NULL::interval, p_dead_letter interval DEFAULT NULL::interval, p_cursor uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 1000, OUT o_pruned integer, OUT o_cursor uuid) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now  timestamptz := plait.now();
  v_keep interval := least(p_succeeded, p_skipped, p_canceled, p_failed, p_dead_letter);
  v_last uuid;
  v_seen int;
  v_jobs uuid[];
begin
  perform plait._require_read_committed();
  if v_keep is null then
    raise exception 'say how long at least one status is kept' using errcode = 'PL012';
  end if;
  if v_keep < interval '0' then
    raise exception 'an age is not negative' using errcode = 'PL012';
  end if;
  select count(*), (array_agg(id order by id desc))[1] into v_seen, v_last from (
    select id from plait.jobs where id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000')
      and id < plait._uuid_floor(v_now - v_keep + interval '1 day')  -- an id may be a day ahead of its row
    order by id limit p_limit) s;
  o_cursor := case when v_seen = p_limit then v_last end;
  o_pruned := 0;
  -- What is left of workers: enough to tell in a recent log on which host an attempt ran.
  delete from plait.workers where state = 'gone' and seen_at < v_now - interval '30 days';
  delete from plait.buckets where name in (
    select name from plait.buckets where full_at <= v_now order by full_at limit p_limit for update skip locked);

  select array_agg(c.id order by c.id) into v_jobs from (
    select j.id from plait.jobs j
    cross join lateral (select a.final, a.finished_at from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) a
    where j.id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000') and j.id <= v_last
      and a.finished_at < v_now - case a.final when 'succeeded' then p_succeeded when 'skipped' then p_skipped
                                               when 'canceled' then p_canceled when 'failed' then p_failed
                                               when 'dead_letter' then p_dead_letter end
      and not exists (select from plait.live l where l.job_id = j.id)
    for update of j skip locked) c;
  if v_jobs is null then
    return;
  end if;
  -- With the rows locked, look again: an operator's retry may have come in between, and even have ended.
  select array_agg(id) into v_jobs from unnest(v_jobs) id
    where not exists (select from plait.live l where l.job_id = id)
      and not exists (select from plait.attempts a where a.job_id = id and a.finished_at >= v_now - v_keep);
  delete from plait.attempts where job_id = any(v_jobs);
  delete from plait.idempotency where job_id = any(v_jobs);
  delete from plait.jobs where id = any(v_jobs);
  get diagnostics o_pruned = row_count;
end $$;

CREATE FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision DEFAULT 30, p_metadata json DEFAULT '{}'::json) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_id int;
begin
  if p_lease_s is null or p_lease_s <= 0 or p_lease_s > 86400 then
    raise exception 'a lease is between 0 s and a day, not % s', p_lease_s using errcode = 'PL012';
  end if;
  insert into plait.workers (host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at)
  values (p_host, p_pid, p_version, p_queues, p_definitions, p_metadata, p_lease_s, plait.now(), plait.now(),
          plait.now() + make_interval(secs => p_lease_s))
  returning id into v_id;
  return v_id;
end $$;

CREATE FUNCTION plait.reschedule(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_max_attempts integer DEFAULT NULL::integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid := plait._tenant(p_tenant);
  v_live   plait.live;
  v_state  plait.status;
begin
  perform plait._require_read_committed();
  if p_max_attempts not between 1 and 10000 then
    raise exception 'max_attempts is between 1 and 10000, not %', p_max_attempts using errcode = 'PL001';
  end if;
  if p_run_at not between v_now - interval '100 years' and v_now + interval '100 years' then
    raise exception 'a job is scheduled within 100 years of now, not for %', p_run_at using errcode = 'PL001';
  end if;
  select * into v_live from plait.live where job_id = p_job and tenant_id = v_tenant for update;
  if not found then
    return plait.retry(p_job, v_tenant, p_run_at, p_max_attempts);
  end if;
  if v_live.state not in ('scheduled', 'queued') then
    raise exception 'a % job cannot be rescheduled', v_live.state using errcode = 'PL009';
  end if;
  if p_max_attempts <= v_live.tries then
    raise exception 'this job has had % tries: max_attempts must be more', v_live.tries using errcode = 'PL001';
  end if;
  v_state := case when p_run_at > v_now then 'scheduled' when p_run_at is null then v_live.state else 'queued' end;
  update plait.live set
    state = v_state,
    run_at = case when p_run_at is null then run_at when p_run_at > v_now then p_run_at when state = 'queued' then run_at else v_now end,
    max_attempts = coalesce(p_max_attempts, max_attempts)
  where job_id = p_job;
  if v_state = 'queued' and v_live.state <> 'queued' then
    perform plait._wake(array[v_live.queue], true);
  end if;
  return v_state::text;
end $$;

CREATE FUNCTION plait.rescue(p_limit integer DEFAULT 1000, p_max_losses integer DEFAULT 3, p_cancel_grace_s double precision DEFAULT 30, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[] := '{}';
  l        plait.live;
  v_counts boolean;
begin
  perform plait._require_read_committed();
  o_lost := 0; o_requeued := 0; o_dead := 0; o_canceled := 0;

  for l in
    select v.* from plait.workers w join plait.live v on v.worker = w.id and v.state = 'running'
    where w.state = 'lost' order by v.job_id limit p_limit for update of v skip locked
  loop
    v_counts := l.lane = 'suspect';
    if l.cancel_requested is not null then
      perform plait._end(l, v_now, 'canceled', 'canceled', 'cancel_forced', coalesce(l.cancel_reason, 'its worker was lost while it was asked to stop'));
      o_canceled := o_canceled + 1;
    elsif v_counts and (l.losses + 1 >= p_max_losses or l.tries + 1 >= l.max_attempts) then
      perform plait._end(l, v_now, 'lost', 'dead_letter', 'worker_lost', format('its worker was lost %s times while it ran', l.losses + 2));
      o_dead := o_dead + 1;
    else
      update plait.live set state = 'queued', worker = null, run_at = v_now, lane = 'suspect',
        losses = losses + v_counts::int, tries = tries + v_counts::int where job_id = l.job_id;
      insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, error, progress)
      values (l.job_id, l.tenant_id, l.run_at, l.run_at, v_now, l.attempt, l.worker, 'lost', 'worker_lost', 'its worker was lost while it ran',
              (select progress from plait.running_state r where r.job_id = l.job_id and r.attempt = l.attempt));
      delete from plait.running_state where job_id = l.job_id;
      o_requeued := o_requeued + 1;
      v_queues := v_queues || l.queue;
    end if;
  end loop;

  update plait.workers w set state = 'gone', running = 0
    where w.state = 'lost' and not exists (select from plait.live v where v.worker = w.id and v.state = 'running');

  for l in
    select v.* from plait.live v where v.cancel_requested < v_now - make_interval(secs => p_cancel_grace_s)
    order by v.job_id limit p_limit for update skip locked
  loop
    perform plait._end(l, v_now, 'canceled', 'canceled', 'cancel_forced', coalesce(l.cancel_reason, 'its handler did not stop when asked'));
    o_canceled := o_canceled + 1;
  end loop;

  with e as materialized (
    select id from plait.workers where state = 'alive' and expires_at < v_now order by id for update skip locked
  )
  update plait.workers w set state = 'lost', asleep = false from e where w.id = e.id and w.expires_at < v_now;
  get diagnostics o_lost = row_count;

  if cardinality(v_queues) > 0 then
    perform plait._wake(v_queues);
  end if;
end $$;

CREATE FUNCTION plait.retry(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_max_attempts integer DEFAULT NULL::integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now     timestamptz := plait.now();
  v_tenant  uuid := plait._tenant(p_tenant);
  v_job     plait.jobs;
  v_attempt int;
  v_final   plait.status;
  v_state   plait.status;
  v_metered boolean;
begin
  perform plait._require_read_committed();
  if p_max_attempts not between 1 and 10000 then
    raise exception 'max_attempts is between 1 and 10000, not %', p_max_attempts using errcode = 'PL001';
  end if;
  if p_run_at not between v_now - interval '100 years' and v_now + interval '100 years' then
    raise exception 'a job is scheduled within 100 years of now, not for %', p_run_at using errcode = 'PL001';
  end if;
  select * into v_job from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select attempt, final into v_attempt, v_final from plait.attempts where job_id = p_job order by attempt desc limit 1;
  if v_final is null or v_final = 'succeeded' or exists (select from plait.live where job_id = p_job) then
    raise exception 'a % job cannot be retried',
      coalesce((select state from plait.live where job_id = p_job), v_final, 'queued') using errcode = 'PL009';
  end if;
  v_metered := exists (select from plait.tenants where id = v_tenant and max_queued is not null);
  if v_metered then
    perform plait._reserve(v_tenant, 1);
  end if;
  if v_job.dedupe_key is not null then
    insert into plait.dedupe (tenant_id, key, job_id) values (v_tenant, v_job.dedupe_key, p_job) on conflict do nothing;
    if not found then
      raise exception 'another job holds the dedupe key %', quote_literal(v_job.dedupe_key) using errcode = 'PL013';
    end if;
  end if;
  v_state := case when p_run_at > v_now then 'scheduled' else 'queued' end;
  insert into plait.live (job_id, tenant_id, run_at, attempt, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key, limit_key)
  values (p_job, v_tenant, case when p_run_at > v_now then p_run_at else v_now end, v_attempt + 1, v_job.priority,
          coalesce(p_max_attempts, v_job.max_attempts), v_state, v_metered, v_job.queue,
          plait._lane(v_job.definition, v_tenant, v_job.limit_key), v_job.definition, v_job.dedupe_key, v_job.limit_key);
  if v_metered then
    perform plait._reserve(v_tenant, 1, true);
  end if;
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (p_job, v_tenant, v_now, v_attempt + 1, 'released', 'retried');
  if v_state = 'queued' then
    perform plait._wake(array[v_job.queue], true);
  end if;
  return v_state::text;
end $$;

CREATE FUNCTION plait.set_definition(p_name text, p_settings json) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  r     plait.definitions;
  v_bad text;
begin
  perform plait._require_read_committed();
  select * into r from plait.definitions where name = p_name for update;
  if not found then
    raise exception 'there is no definition %', quote_literal(p_name) using errcode = 'PL008';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('active', 'queue', 'priority', 'max_attempts', 'timeout_s', 'backoff_base_s', 'backoff_factor', 'backoff_max_s',
                    'backoff_jitter', 'max_running', 'rate_count', 'rate_period_s', 'key_max_running', 'key_rate_count', 'key_rate_period_s');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := plait.now();
  perform plait._write_definition(r);
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.set_queue(p_name text, p_settings json) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  r     plait.queues;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_name is null or p_name !~ '^[A-Za-z0-9_.:-]{1,100}$' then
    raise exception 'a queue''s name is 1 to 100 letters, digits and _ . : -' using errcode = 'PL012';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k where k not in ('paused', 'max_running', 'rate_count', 'rate_period_s');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('plait.queue ' || p_name, 0));
  select * into r from plait.queues where name = p_name;
  if not found then
    r.name := p_name;
    r.paused := false;
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := plait.now();
  insert into plait.queues select r.*
  on conflict (name) do update set paused = excluded.paused, max_running = excluded.max_running, rate_count = excluded.rate_count,
    rate_period_s = excluded.rate_period_s, updated_at = excluded.updated_at;
  if not r.paused then
    perform plait._wake(array[p_name], true);
  end if;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $_$;

CREATE FUNCTION plait.set_tenant(p_slug text, p_settings json DEFAULT '{}'::json) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  r      plait.tenants;
  v_bad  text;
  v_was  int;
  v_zone text;
begin
  perform plait._require_read_committed();
  if p_slug is null or p_slug !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
    raise exception 'a tenant''s slug is 1 to 63 of a-z, 0-9, _ and -, and begins with a letter or digit' using errcode = 'PL012';
  end if;
  if p_slug ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'a tenant''s slug must not look like an id' using errcode = 'PL012';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('name', 'time_zone', 'paused', 'weight', 'max_running', 'max_queued');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  insert into plait.tenants (id, slug, name) values (plait.uuidv7(), p_slug, p_slug) on conflict (slug) do nothing;
  select * into r from plait.tenants where slug = p_slug for no key update;
  v_was := r.max_queued;
  v_zone := r.time_zone;
  r := json_populate_record(r, p_settings);
  -- Not by trying it: Postgres also takes offsets and inventions like FOO5, which nobody else knows.
  if r.time_zone <> v_zone and not exists (
       select from pg_timezone_names where name = r.time_zone and name !~ '^(posix|right)/|^(posixrules|localtime|Factory)$') then  -- clock: a name
    raise exception 'there is no time zone %', quote_literal(r.time_zone) using errcode = 'PL012';
  end if;
  update plait.tenants set name = r.name, time_zone = r.time_zone, paused = r.paused, weight = r.weight, max_running = r.max_running,
    max_queued = r.max_queued, quota_left = null where id = r.id;
  if r.max_queued is not null and v_was is null then
    update plait.live set metered = true where job_id in (   -- they count from now on
      select job_id from plait.live where tenant_id = r.id and not metered order by job_id for update skip locked);
  end if;
  return r.id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $_$;

CREATE FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[] DEFAULT NULL::text[], p_details text[] DEFAULT NULL::text[], p_ran_ms double precision[] DEFAULT NULL::double precision[]) RETURNS TABLE(job_id uuid, attempt integer, accepted boolean, status text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET lock_timeout TO '2s'
    AS $$
#variable_conflict use_column
declare v_stale int[];
begin
  perform plait._require_read_committed();
  perform plait._check_outcomes(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
  if exists (select from unnest(p_jobs, p_attempts) x(job, attempt) group by job, attempt having count(*) > 1) then
    raise exception 'an attempt is named twice in one batch' using errcode = 'PL001';
  end if;
  v_stale := plait._settle(p_worker, plait.now(), p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
  return query
    select x.id, x.attempt, not coalesce(x.n = any(v_stale), false), v.status::text
    from unnest(p_jobs, p_attempts) with ordinality x(id, attempt, n) left join plait.job v on v.id = x.id order by x.n;
exception when data_exception or program_limit_exceeded then
  raise exception 'a result is JSON, and this is not: %', sqlerrm using errcode = 'PL001';
end $$;

CREATE FUNCTION plait.summary(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(status text, jobs bigint, oldest_s double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select l.state::text, count(*), greatest(0, extract(epoch from plait.now() - min(l.run_at)))::float8
    from plait.live l where v_tenant is null or l.tenant_id = v_tenant group by l.state;
  return query
    select s.final::text, count(*), null::float8 from (
      select a.final from plait.attempts a
      where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant)
        and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
      limit 10000) s group by 1;
end $$;

CREATE FUNCTION plait.tenant_id(p_tenant text) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  v_id    uuid;
  v_bound uuid;
begin
  select tenant_id into v_bound from plait.logins where login = session_user;
  if not found then
    perform plait._tenant('00000000-0000-7000-8000-000000000000');  -- refuses who is not trusted, whatever is asked
  end if;
  if p_tenant ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    select id into v_id from plait.tenants where id = p_tenant::uuid and id = coalesce(v_bound, id);
  else
    select id into v_id from plait.tenants where slug = p_tenant and id = coalesce(v_bound, id);
  end if;
  if v_id is null then
    raise exception 'there is no tenant %', coalesce(quote_literal(p_tenant), 'null') using errcode = 'PL003';
  end if;
  return v_id;
end $_$;

CREATE FUNCTION plait.uuidv7() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING SUBSTRING(int8send(((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint) FROM 3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

CREATE TABLE plait.buckets (
    name text NOT NULL COLLATE pg_catalog."C",
    tokens double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    full_at timestamp with time zone NOT NULL
);

CREATE TABLE plait.dedupe (
    tenant_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    job_id uuid NOT NULL
);

ALTER TABLE ONLY plait.dedupe FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.idempotency (
    tenant_id uuid NOT NULL,
    definition text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    job_id uuid NOT NULL,
    payload_hash text NOT NULL,
    expires_at timestamp with time zone
);

ALTER TABLE ONLY plait.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.installed (
    one boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    functions_hash text NOT NULL,
    updated_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    CONSTRAINT installed_one_check CHECK (one)
);

CREATE TABLE plait.leader (
    name text NOT NULL,
    holder text NOT NULL,
    term bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE plait.logins (
    login name NOT NULL,
    tenant_id uuid NOT NULL
);

ALTER TABLE ONLY plait.logins FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.queues (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    max_running integer,
    rate_count integer,
    rate_period_s double precision,
    updated_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    CONSTRAINT queues_check CHECK (((rate_count IS NULL) = (rate_period_s IS NULL))),
    CONSTRAINT queues_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT queues_rate_count_check CHECK ((rate_count >= 1)),
    CONSTRAINT queues_rate_period_s_check CHECK (((rate_period_s > (0)::double precision) AND (rate_period_s <= ('3200000000'::numeric)::double precision)))
);

CREATE TABLE plait.tenants (
    id uuid NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    created_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    weight smallint DEFAULT 1 NOT NULL,
    max_running integer,
    max_queued integer,
    quota_left integer,
    CONSTRAINT tenants_max_queued_check CHECK ((max_queued >= 0)),
    CONSTRAINT tenants_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT tenants_name_check CHECK ((name <> ''::text)),
    CONSTRAINT tenants_slug_check CHECK ((slug ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text)),
    CONSTRAINT tenants_weight_check CHECK (((weight >= 1) AND (weight <= 1000)))
);

ALTER TABLE ONLY plait.tenants FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.workers (
    id integer NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues text[] NOT NULL,
    definitions text[] NOT NULL,
    metadata json DEFAULT '{}'::json NOT NULL,
    lease_s double precision NOT NULL,
    started_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    seen_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    state text DEFAULT 'alive'::text NOT NULL,
    asleep boolean DEFAULT false NOT NULL,
    running integer DEFAULT 0 NOT NULL,
    cursors jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT workers_lease_s_check CHECK ((lease_s > (0)::double precision)),
    CONSTRAINT workers_state_check CHECK ((state = ANY (ARRAY['alive'::text, 'lost'::text, 'gone'::text])))
)
WITH (fillfactor='50');

ALTER TABLE plait.workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME plait.workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fe37-74c8-9e9e-a4cfd091aa2b', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.736882+00', '2026-11-15 11:55:29.743396+00', '2026-11-15 11:55:29.755896+00', 1, 1, 'succeeded', 'succeeded', NULL, NULL, NULL, NULL, NULL, '{"n": 1}', '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fe60-70b9-86a8-030f4f618620', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.766205+00', '2026-11-15 11:55:29.766205+00', '2026-11-15 11:55:29.774827+00', 1, 1, 'failed', 'failed', NULL, 2, 'permanent', 'no such file', NULL, NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fe73-7631-a3cd-908701b2926a', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.783526+00', '2026-11-15 11:55:29.783526+00', '2026-11-15 11:55:29.789526+00', 1, 1, 'failed', 'dead_letter', NULL, NULL, 'attempts_exhausted', 'again and again', '…', NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fe7f-7238-abf7-98196571e35d', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.798343+00', '2026-11-15 11:55:29.798343+00', '2026-11-15 11:55:29.805968+00', 1, 1, 'skipped', 'skipped', NULL, NULL, 'nothing_to_do', NULL, NULL, NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fe92-717c-baa9-8528b51600e2', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', NULL, NULL, '2026-11-15 11:55:29.815078+00', 1, NULL, 'canceled', 'canceled', NULL, NULL, 'canceled', 'not wanted', NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-feb8-7407-9714-66d3fd899907', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.849578+00', '2026-11-15 11:55:29.849578+00', '2026-11-15 11:55:29.851055+00', 1, 1, 'failed', NULL, NULL, NULL, NULL, 'try again', NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fec0-702b-a314-f8fef68ec3e3', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', NULL, NULL, '2026-11-15 11:55:29.857386+00', 1, NULL, 'canceled', 'canceled', NULL, NULL, 'canceled', NULL, NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1df0f-fec0-702b-a314-f8fef68ec3e3', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', NULL, NULL, '2026-11-15 11:55:29.858211+00', 2, NULL, 'released', NULL, NULL, NULL, 'retried', NULL, NULL, NULL, NULL);

INSERT INTO plait.buckets (name, tokens, at, full_at) VALUES ('definition limited', 9, '2026-11-15 11:55:29.831294+00', '2026-11-15 11:55:35.831294+00');

INSERT INTO plait.dedupe (tenant_id, key, job_id) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'running', '01a1df0f-fe99-72a5-ad22-76bf69a7ea54');
INSERT INTO plait.dedupe (tenant_id, key, job_id) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'queued', '01a1df0f-febd-7788-a0a5-708f6c369d1f');

INSERT INTO plait.definitions (name, kind, active, queue, priority, max_attempts, timeout_s, backoff_base_s, backoff_factor, backoff_max_s, backoff_jitter, max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s, updated_at) VALUES ('limited', 'function', true, 'default', 100, 5, 3600, 1, 2, 3600, 0.2, 2, 10, 60, 1, NULL, NULL, '2026-11-15 11:55:29.706104+00');
INSERT INTO plait.definitions (name, kind, active, queue, priority, max_attempts, timeout_s, backoff_base_s, backoff_factor, backoff_max_s, backoff_jitter, max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s, updated_at) VALUES ('work', 'function', true, 'default', 100, 3, 3600, 1, 2, 3600, 0.2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-15 11:55:29.706105+00');

INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'succeeded key', '01a1df0f-fe37-74c8-9e9e-a4cfd091aa2b', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'failed key', '01a1df0f-fe60-70b9-86a8-030f4f618620', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'dead_letter key', '01a1df0f-fe73-7631-a3cd-908701b2926a', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'skipped key', '01a1df0f-fe7f-7238-abf7-98196571e35d', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'running', '01a1df0f-fe99-72a5-ad22-76bf69a7ea54', '9104d655f84767d76fc5450d3586d4bf', '2026-11-15 12:55:29.818114+00');
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'work', 'queued', '01a1df0f-febd-7788-a0a5-708f6c369d1f', '9104d655f84767d76fc5450d3586d4bf', NULL);

INSERT INTO plait.installed (one, version, functions_hash, updated_at) VALUES (true, 2, '28c85eb6ca3dd359333d7068d59d1a5005627f59868259a71bd581b40c16f32d', '2026-11-15 11:55:29.461514+00');

INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe37-74c8-9e9e-a4cfd091aa2b', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.727693+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'succeeded', 'succeeded once', 'succeeded key', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe60-70b9-86a8-030f4f618620', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.760599+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'failed', 'failed once', 'failed key', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe73-7631-a3cd-908701b2926a', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.780138+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'dead_letter', 'dead_letter once', 'dead_letter key', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe7f-7238-abf7-98196571e35d', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.792434+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'skipped', 'skipped once', 'skipped key', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe92-717c-baa9-8528b51600e2', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.811182+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'canceled', NULL, NULL, NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fe99-72a5-ad22-76bf69a7ea54', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.818114+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'running', 'running', 'running', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fea3-760b-8788-816c82e919e8', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.827525+00', NULL, NULL, 100, 5, 'limited', 'default', 'manual', 'running', NULL, NULL, 'one', '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-feb0-76e6-9742-89d7298ec90a', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.841138+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'waiting', NULL, NULL, NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-feb5-729f-9d70-d01ff6fd45bd', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.845942+00', '2026-11-15 12:55:29.845942+00', 5, 7, 3, 'work', 'default', 'manual', 'scheduled', NULL, NULL, NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-feb8-7407-9714-66d3fd899907', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.848297+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'scheduled', NULL, NULL, NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-febd-7788-a0a5-708f6c369d1f', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.853567+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', 'queued', 'queued', NULL, '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-febf-7655-b378-ff8e2ad0ca5c', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.855166+00', NULL, NULL, 100, 5, 'limited', 'default', 'manual', 'queued', NULL, NULL, 'one', '{"path": "a.png", "width": 200}');
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload) VALUES ('01a1df0f-fec0-702b-a314-f8fef68ec3e3', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.856268+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', NULL, NULL, NULL, '{"path": "a.png", "width": 200}');

INSERT INTO plait.leader (name, holder, term, expires_at) VALUES ('main', 'somebody', 1, '2026-11-15 11:55:39.714595+00');

INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-fe99-72a5-ad22-76bf69a7ea54', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.821971+00', NULL, 1, 1, 100, 0, 3, 0, 'running', true, 'default', '', 'work', 'running', NULL, NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-fea3-760b-8788-816c82e919e8', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.831294+00', NULL, 1, 1, 100, 0, 5, 0, 'running', true, 'default', 'k:limited:01a1df0f-fe07-7ba0-b4bf-74a7179aba9e:one', 'limited', NULL, 'one', NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-feb5-729f-9d70-d01ff6fd45bd', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 12:55:29.845942+00', NULL, NULL, 0, 7, 0, 3, 0, 'scheduled', true, 'default', '', 'work', NULL, NULL, NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-feb8-7407-9714-66d3fd899907', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 12:55:29.851055+00', NULL, NULL, 1, 100, 1, 3, 0, 'scheduled', true, 'default', '', 'work', NULL, NULL, NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-febd-7788-a0a5-708f6c369d1f', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.853567+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', 'queued', NULL, NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-febf-7655-b378-ff8e2ad0ca5c', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.855166+00', NULL, NULL, 0, 100, 0, 5, 0, 'queued', true, 'default', 'k:limited:01a1df0f-fe07-7ba0-b4bf-74a7179aba9e:one', 'limited', NULL, 'one', NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-fec0-702b-a314-f8fef68ec3e3', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.858211+00', NULL, NULL, 2, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason) VALUES ('01a1df0f-feb0-76e6-9742-89d7298ec90a', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', '2026-11-15 11:55:29.843378+00', NULL, NULL, 1, 100, 0, 3, 0, 'waiting', true, 'default', '', 'work', NULL, NULL, NULL);

INSERT INTO plait.logins (login, tenant_id) VALUES ('ada_login', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e');

INSERT INTO plait.queues (name, paused, max_running, rate_count, rate_period_s, updated_at) VALUES ('slow', false, 1, 5, 1, '2026-11-15 11:55:29.711069+00');

INSERT INTO plait.running_state (job_id, tenant_id, attempt, updated_at, progress) VALUES ('01a1df0f-fe99-72a5-ad22-76bf69a7ea54', '01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 1, '2026-11-15 11:55:29.825179+00', '{"done": 0.1}');

INSERT INTO plait.tenants (id, slug, name, time_zone, created_at, paused, weight, max_running, max_queued, quota_left) VALUES ('00000000-0000-7000-8000-000000000000', 'default', 'Default', 'UTC', '2026-11-15 11:55:29.358767+00', false, 1, NULL, NULL, NULL);
INSERT INTO plait.tenants (id, slug, name, time_zone, created_at, paused, weight, max_running, max_queued, quota_left) VALUES ('01a1df0f-fe07-7ba0-b4bf-74a7179aba9e', 'ada', 'Ada & Söhne', 'Europe/Berlin', '2026-11-15 11:55:29.671392+00', false, 3, 5, 100, 86);

INSERT INTO plait.workers (id, host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at, state, asleep, running, cursors) OVERRIDING SYSTEM VALUE VALUES (1, 'host', 1, '0', '{default,slow}', '{work,limited}', '{"zone":"a"}', 30, '2026-11-15 11:55:29.718302+00', '2026-11-15 11:55:29.718302+00', '2026-11-15 11:55:59.718302+00', 'alive', false, 0, '{"default": ["01a1df0f-fe07-7ba0-b4bf-74a7179aba9e", "k:limited:01a1df0f-fe07-7ba0-b4bf-74a7179aba9e:one"]}');

SELECT pg_catalog.setval('plait.workers_id_seq', 1, true);

ALTER TABLE ONLY plait.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (job_id, attempt);

ALTER TABLE ONLY plait.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.dedupe
    ADD CONSTRAINT dedupe_pkey PRIMARY KEY (tenant_id, key);

ALTER TABLE ONLY plait.definitions
    ADD CONSTRAINT definitions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, definition, key);

ALTER TABLE ONLY plait.installed
    ADD CONSTRAINT installed_pkey PRIMARY KEY (one);

ALTER TABLE ONLY plait.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.leader
    ADD CONSTRAINT leader_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.live
    ADD CONSTRAINT live_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY plait.logins
    ADD CONSTRAINT logins_pkey PRIMARY KEY (login);

ALTER TABLE ONLY plait.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.running_state
    ADD CONSTRAINT running_state_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY plait.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.tenants
    ADD CONSTRAINT tenants_slug_key UNIQUE (slug);

ALTER TABLE ONLY plait.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX attempts_failed ON plait.attempts USING btree (tenant_id, job_id) WHERE (final = ANY (ARRAY['failed'::plait.status, 'dead_letter'::plait.status]));

CREATE INDEX buckets_full ON plait.buckets USING btree (full_at);

CREATE INDEX idempotency_job ON plait.idempotency USING btree (job_id);

CREATE INDEX jobs_tenant ON plait.jobs USING btree (tenant_id, id);

CREATE INDEX live_cancel ON plait.live USING btree (worker) WHERE (cancel_requested IS NOT NULL);

CREATE INDEX live_claim ON plait.live USING btree (queue, tenant_id, priority, run_at, job_id) WHERE ((state = 'queued'::plait.status) AND (lane = ''::text));

CREATE INDEX live_due ON plait.live USING btree (run_at) WHERE (state = 'scheduled'::plait.status);

CREATE INDEX live_lanes ON plait.live USING btree (queue, lane, tenant_id, priority, run_at, job_id) WHERE ((state = 'queued'::plait.status) AND (lane <> ''::text));

CREATE INDEX live_limited ON plait.live USING btree (definition, tenant_id, limit_key) WHERE ((state = 'running'::plait.status) AND (lane <> ''::text));

CREATE INDEX live_metered ON plait.live USING btree (tenant_id) WHERE metered;

CREATE INDEX live_running ON plait.live USING btree (worker) WHERE (state = 'running'::plait.status);

CREATE INDEX live_waiting ON plait.live USING btree (tenant_id) WHERE (state = 'waiting'::plait.status);

CREATE INDEX tenants_special ON plait.tenants USING btree (id) WHERE (paused OR (weight <> 1) OR (max_running IS NOT NULL));

CREATE INDEX workers_asleep ON plait.workers USING btree (id) WHERE asleep;

CREATE INDEX workers_expiry ON plait.workers USING btree (expires_at) WHERE (state = 'alive'::text);

CREATE INDEX workers_lost ON plait.workers USING btree (id) WHERE (state = 'lost'::text);

CREATE TRIGGER guard BEFORE UPDATE OF state ON plait.live FOR EACH ROW WHEN (((old.state <> new.state) AND (NOT (((old.state = 'scheduled'::plait.status) AND (new.state = 'queued'::plait.status)) OR ((old.state = 'queued'::plait.status) AND (new.state = ANY (ARRAY['running'::plait.status, 'scheduled'::plait.status]))) OR ((old.state = 'running'::plait.status) AND (new.state = ANY (ARRAY['queued'::plait.status, 'scheduled'::plait.status, 'waiting'::plait.status]))) OR ((old.state = 'waiting'::plait.status) AND (new.state = 'queued'::plait.status)))))) EXECUTE FUNCTION plait._guard_live();

ALTER TABLE ONLY plait.logins
    ADD CONSTRAINT logins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE plait.attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.dedupe ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.idempotency ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.jobs ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.live ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.logins ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner ON plait.attempts TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.dedupe TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.idempotency TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.jobs TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.live TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.logins TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.running_state TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.tenants TO plait_owner USING (true) WITH CHECK (true);

ALTER TABLE plait.running_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON plait.attempts FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.dedupe FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.idempotency FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.jobs FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.live FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.logins FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.running_state FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.tenants FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

ALTER TABLE plait.tenants ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA plait TO plait_client;
GRANT USAGE ON SCHEMA plait TO plait_tenant;
GRANT USAGE ON SCHEMA plait TO plait_worker;
GRANT USAGE ON SCHEMA plait TO plait_admin;

REVOKE ALL ON FUNCTION plait._backoff(p_tries integer, p_base_s double precision, p_factor double precision, p_max_s double precision, p_jitter double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._bound_tenant() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._check_jobs(p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._check_outcomes(p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._claim(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._count_new(p_tenant uuid, p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_dedupe_keys text[], p_idempotency_keys text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._detail(p_detail text, OUT error text, OUT traceback text, OUT reason text, OUT permanent boolean, OUT delay_s double precision, OUT pid integer, OUT exit_code integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._each(p_values anyarray, p_count integer) FROM PUBLIC;

GRANT SELECT ON TABLE plait.live TO plait_client;
GRANT SELECT ON TABLE plait.live TO plait_tenant;
GRANT SELECT ON TABLE plait.live TO plait_admin;

REVOKE ALL ON FUNCTION plait._end(p_live plait.live, p_now timestamp with time zone, p_status plait.ending, p_final plait.status, p_reason text, p_error text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._enqueue_plain(p_now timestamp with time zone, p_ids uuid[], p_payloads json[], p_tenant uuid, p_definition text, p_queue text, p_priority integer, p_max_attempts integer, p_source text, p_lane text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._fetch(p_jobs uuid[], p_attempts integer[], p_tries smallint[], p_max smallint[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._give_back(p_worker integer, p_now timestamp with time zone, p_reason text, p_held uuid[], p_held_attempts integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._guard_live() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._hold_keys(p_now timestamp with time zone, p_tenant uuid, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait.now() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.now() TO plait_client;
GRANT ALL ON FUNCTION plait.now() TO plait_tenant;
GRANT ALL ON FUNCTION plait.now() TO plait_worker;
GRANT ALL ON FUNCTION plait.now() TO plait_admin;

GRANT SELECT ON TABLE plait.definitions TO plait_admin;

REVOKE ALL ON FUNCTION plait._lane(p_definition text, p_tenant uuid, p_limit_key text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._lanes(p_queue text, p_after text, p_upto text, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._payload_hash(p_payload text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._release_keys(p_tenants uuid[], p_keys text[], p_jobs uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._require_read_committed() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._reserve(p_tenant uuid, p_count integer, p_made boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._room(p_definition text, p_tenant uuid, p_limit_key text, p_now timestamp with time zone, p_spend integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._settle(p_worker integer, p_now timestamp with time zone, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._settle_succeeded(p_worker integer, p_now timestamp with time zone, p_attempt integer, p_succeeded uuid[], p_jobs uuid[], p_attempts integer[], p_results text[], p_ran_ms double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._shares(p_tenants uuid[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take_lanes(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take_suspect(p_worker integer, p_now timestamp with time zone, p_queue text, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenant(p_tenant uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenant_or_all(p_tenant uuid, p_all boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenants(p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tokens(p_name text, p_count integer, p_period_s double precision, p_now timestamp with time zone, p_spend integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._uuid_floor(p_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._visible_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_client;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_tenant;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_worker;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_admin;

REVOKE ALL ON FUNCTION plait._wake(p_queues text[], p_always boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._write_definition(r plait.definitions) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait.bind_login(p_login name, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.bind_login(p_login name, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_client;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.define(p_definitions json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.define(p_definitions json) TO plait_worker;
GRANT ALL ON FUNCTION plait.define(p_definitions json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.diagnose() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.diagnose() TO plait_admin;

REVOKE ALL ON FUNCTION plait.elect(p_holder text, p_lease_s double precision, p_resign boolean, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.elect(p_holder text, p_lease_s double precision, p_resign boolean, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

GRANT SELECT ON TABLE plait.attempts TO plait_client;
GRANT SELECT ON TABLE plait.attempts TO plait_tenant;
GRANT SELECT ON TABLE plait.attempts TO plait_admin;

GRANT SELECT ON TABLE plait.jobs TO plait_client;
GRANT SELECT ON TABLE plait.jobs TO plait_tenant;
GRANT SELECT ON TABLE plait.jobs TO plait_admin;

GRANT SELECT ON TABLE plait.running_state TO plait_client;
GRANT SELECT ON TABLE plait.running_state TO plait_tenant;
GRANT SELECT ON TABLE plait.running_state TO plait_admin;

GRANT SELECT ON TABLE plait.job TO plait_client;
GRANT SELECT ON TABLE plait.job TO plait_tenant;
GRANT SELECT ON TABLE plait.job TO plait_admin;

REVOKE ALL ON FUNCTION plait.get_job(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.get_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.get_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.get_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_client;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_tenant;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_admin;

REVOKE ALL ON FUNCTION plait.heartbeat(p_worker integer, p_running integer, p_held uuid[], p_held_attempts integer[], OUT o_running integer, OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_released integer, OUT o_gone uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.heartbeat(p_worker integer, p_running integer, p_held uuid[], p_held_attempts integer[], OUT o_running integer, OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_released integer, OUT o_gone uuid[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.leave(p_worker integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.leave(p_worker integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_definitions() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_definitions() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_queues() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_queues() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_tenants() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_tenants() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_workers(p_since interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_workers(p_since interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.progress(p_worker integer, p_job uuid, p_attempt integer, p_progress json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.progress(p_worker integer, p_job uuid, p_attempt integer, p_progress json) TO plait_worker;

REVOKE ALL ON FUNCTION plait.promote(p_limit integer, OUT o_promoted integer, OUT o_next_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.promote(p_limit integer, OUT o_promoted integer, OUT o_next_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.prune(p_succeeded interval, p_skipped interval, p_canceled interval, p_failed interval, p_dead_letter interval, p_cursor uuid, p_limit integer, OUT o_pruned integer, OUT o_cursor uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.prune(p_succeeded interval, p_skipped interval, p_canceled interval, p_failed interval, p_dead_letter interval, p_cursor uuid, p_limit integer, OUT o_pruned integer, OUT o_cursor uuid) TO plait_worker;

REVOKE ALL ON FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision, p_metadata json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision, p_metadata json) TO plait_worker;

REVOKE ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_client;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.rescue(p_limit integer, p_max_losses integer, p_cancel_grace_s double precision, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.rescue(p_limit integer, p_max_losses integer, p_cancel_grace_s double precision, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_client;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_definition(p_name text, p_settings json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_definition(p_name text, p_settings json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_queue(p_name text, p_settings json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_queue(p_name text, p_settings json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_tenant(p_slug text, p_settings json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_tenant(p_slug text, p_settings json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.tenant_id(p_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_client;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_worker;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.uuidv7() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_client;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_tenant;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_worker;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_admin;

GRANT SELECT ON TABLE plait.dedupe TO plait_client;
GRANT SELECT ON TABLE plait.dedupe TO plait_tenant;
GRANT SELECT ON TABLE plait.dedupe TO plait_admin;

GRANT SELECT ON TABLE plait.idempotency TO plait_client;
GRANT SELECT ON TABLE plait.idempotency TO plait_tenant;
GRANT SELECT ON TABLE plait.idempotency TO plait_admin;

GRANT SELECT ON TABLE plait.installed TO plait_client;
GRANT SELECT ON TABLE plait.installed TO plait_tenant;
GRANT SELECT ON TABLE plait.installed TO plait_worker;
GRANT SELECT ON TABLE plait.installed TO plait_admin;

GRANT SELECT ON TABLE plait.leader TO plait_admin;

GRANT SELECT ON TABLE plait.queues TO plait_admin;

GRANT SELECT(id) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(id) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(id) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT(slug) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(slug) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(slug) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT(name) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(name) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(name) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT(time_zone) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(time_zone) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(time_zone) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT(created_at) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(created_at) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(created_at) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT(paused) ON TABLE plait.tenants TO plait_client;
GRANT SELECT(paused) ON TABLE plait.tenants TO plait_tenant;
GRANT SELECT(paused) ON TABLE plait.tenants TO plait_admin;

GRANT SELECT ON TABLE plait.workers TO plait_admin;

reset role;
