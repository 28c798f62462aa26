-- A database of schema version 5, made by scripts/snapshot. Frozen when that version is released.
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

CREATE TYPE plait.marks AS (
	seen_at timestamp with time zone,
	seen_xid xid8,
	tenants uuid[],
	priorities smallint[],
	marks timestamp with time zone[]
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

CREATE FUNCTION plait._advance(p_marks plait.marks, p_seen_at timestamp with time zone, p_queue text, p_definitions text[], p_tenants uuid[], p_priorities smallint[]) RETURNS plait.marks
    LANGUAGE plpgsql
    AS $$
declare
  c_most  constant int := 128;
  v_snapshot pg_snapshot := pg_current_snapshot();
begin
  if p_marks.seen_at is not null then
    if p_seen_at < plait._look_at(p_marks) or pg_snapshot_xmin(v_snapshot) <= p_marks.seen_xid then
      return p_marks;
    end if;
    select array_agg(m.tenant_id order by m.tenant_id, m.priority), array_agg(m.priority order by m.tenant_id, m.priority),
           array_agg(m.mark order by m.tenant_id, m.priority)
      into p_marks.tenants, p_marks.priorities, p_marks.marks
      from (
        select k.tenant_id, k.priority, greatest(k.mark, least(p_marks.seen_at, coalesce(f.run_at, 'infinity'))) as mark
        from (
          select x.tenant_id, x.priority, max(x.mark) as mark, bool_or(x.used) as used
          from (select t as tenant_id, p as priority, '-infinity'::timestamptz as mark, true as used from unnest(p_tenants, p_priorities) u(t, p)
                union all
                select t, p, m, false from unnest(p_marks.tenants, p_marks.priorities, p_marks.marks) u(t, p, m)) x
          group by 1, 2 order by 4 desc limit c_most) k
        left join lateral (
          select l.run_at from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = k.tenant_id and l.priority = k.priority
            and l.run_at >= k.mark and l.definition = any(p_definitions)
          order by l.run_at limit 1) f on true) m;
  end if;
  p_marks.seen_at := p_seen_at;
  p_marks.seen_xid := pg_current_xact_id();
  return p_marks;
end $$;

CREATE TABLE plait.fan_outs (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    parent_id uuid NOT NULL,
    root_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    timeout_at timestamp with time zone,
    decided_at timestamp with time zone,
    timeout_s double precision,
    depth smallint NOT NULL,
    total integer NOT NULL,
    needed integer NOT NULL,
    succeeded integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    canceled integer DEFAULT 0 NOT NULL,
    waited_for integer,
    decided_ended integer,
    early boolean NOT NULL,
    streamed boolean NOT NULL,
    nested boolean NOT NULL,
    cancel_remaining boolean NOT NULL,
    cancel_on_parent_failure boolean NOT NULL,
    cancel_due boolean DEFAULT false NOT NULL,
    strategy text NOT NULL,
    decision text,
    left_open integer[],
    serial boolean DEFAULT false NOT NULL,
    stop boolean DEFAULT false NOT NULL,
    turn uuid,
    parent_final plait.status,
    on_timeout text,
    on_node_failure text,
    rule text,
    CONSTRAINT fan_outs_check CHECK (((needed >= 0) AND (needed <= total))),
    CONSTRAINT fan_outs_counts CHECK (((succeeded >= 0) AND (failed >= 0) AND (canceled >= 0) AND (((succeeded + failed) + canceled) <= total))),
    CONSTRAINT fan_outs_decided CHECK (((decided_at IS NULL) = (decision IS NULL))),
    CONSTRAINT fan_outs_decision_check CHECK ((decision = ANY (ARRAY['succeeded'::text, 'failed'::text, 'timeout'::text]))),
    CONSTRAINT fan_outs_on_node_failure_check CHECK ((on_node_failure = ANY (ARRAY['fail'::text, 'tolerate'::text]))),
    CONSTRAINT fan_outs_on_timeout_check CHECK ((on_timeout = ANY (ARRAY['proceed'::text, 'fail'::text]))),
    CONSTRAINT fan_outs_rule_check CHECK ((rule = ANY (ARRAY['quorum'::text, 'timeout'::text, 'node_failed'::text, 'quorum_lost'::text]))),
    CONSTRAINT fan_outs_strategy_check CHECK ((strategy = ANY (ARRAY['fail_fast'::text, 'collect_all'::text, 'threshold'::text, 'quorum'::text, 'nursery'::text, 'after'::text]))),
    CONSTRAINT fan_outs_total_check CHECK ((total >= 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY plait.fan_outs FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait._all_skipped(p_fan_out plait.fan_outs) RETURNS boolean
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    AS $$
  select not exists (
    select from plait.jobs j join plait.attempts a on a.job_id = j.id
    where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and a.final = 'succeeded')
$$;

CREATE FUNCTION plait._announce(p_from timestamp with time zone, p_to timestamp with time zone, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now  timestamptz := plait._moment();
  v_told int := 0;
  d      plait.definitions;
  r      record;
begin
  select * into d from plait.definitions where name = 'connector.webhook.deliver';
  for r in
    with due as (
      select e.tenant_id, e.id as endpoint_id, a.job_id, a.attempt, a.finished_at, a.final, a.reason, left(a.error, 2000) as error,
             j.definition, j.queue, j.correlation_id, j.created_at, plait.uuidv7() as delivery_id
      from plait.attempts a
      join plait.endpoints e on e.tenant_id = a.tenant_id and e.subscribed_at <= a.finished_at and a.final = any(e.statuses)
      join plait.jobs j on j.id = a.job_id and (e.definitions is null or j.definition = any(e.definitions))
      where a.finished_at >= p_from and a.finished_at < p_to and j.definition <> 'connector.webhook.deliver'
        -- offset 0: one probe of the key for each. As a join it is planned for an empty table, and walks all of an endpoint's rows each time.
        and not exists (select from plait.announcements n where n.tenant_id = e.tenant_id and n.endpoint_id = e.id
                        and n.job_id = a.job_id and n.attempt = a.attempt offset 0)
      limit p_limit
    ), told as (
      insert into plait.announcements (tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id)
      select tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id from due returning delivery_id
    )
    select u.tenant_id, array_agg(u.delivery_id order by u.delivery_id) as ids, array_agg(u.job_id::text order by u.delivery_id) as jobs,
           array_agg(u.correlation_id order by u.delivery_id) as correlations,
           array_agg(json_build_object('endpoint', u.endpoint_id, 'type', 'job.' || u.final, 'timestamp', u.finished_at, 'data', json_build_object(
             'job_id', u.job_id, 'definition', u.definition, 'queue', u.queue, 'status', u.final, 'attempt', u.attempt, 'reason', u.reason,
             'error', u.error, 'correlation_id', u.correlation_id, 'created_at', u.created_at, 'finished_at', u.finished_at))
             order by u.delivery_id) as payloads
    from due u join told t using (delivery_id) group by u.tenant_id
  loop
    perform plait._enqueue_plain(
      v_now, r.ids, r.payloads, r.tenant_id, 'connector.webhook.deliver', coalesce(d.queue, 'default'), coalesce(d.priority, 100),
      coalesce(d.max_attempts, 5), 'system', plait._lane('connector.webhook.deliver', r.tenant_id, null));
    update plait.jobs j set source_ref = u.job, correlation_id = u.correlation
      from unnest(r.ids, r.jobs, r.correlations) u(id, job, correlation) where j.id = u.id;
    v_told := v_told + cardinality(r.ids);
  end loop;
  if v_told > 0 then
    perform plait._wake(array[coalesce(d.queue, 'default')], false);
  end if;
  return v_told;
end $$;

CREATE FUNCTION plait._archive(p_jobs uuid[]) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$
  select array_agg(translate(json_build_object(
      'tenant', coalesce(t.slug, j.tenant_id::text), 'status', a.final, 'finished_at', a.finished_at, 'job', to_json(j),
      'attempts', (select json_agg(x order by x.attempt) from plait.attempts x where x.job_id = j.id),
      'steps', (select json_agg(x order by x.seq) from plait.steps x where x.job_id = j.id),
      'signals', (select json_agg(x order by x.sent_at, x.id) from plait.signals x where x.job_id = j.id),
      'fan_outs', (select json_agg(x order by x.id) from plait.fan_outs x where x.parent_id = j.id)
    )::text, E'\n\r', '  ') order by j.id)
  from plait.jobs j
  left join plait.tenants t on t.id = j.tenant_id
  cross join lateral (select a.final, a.finished_at from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) a
  where j.id = any(p_jobs)
$$;

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
    parent_id uuid,
    root_id uuid,
    fan_out_id uuid,
    fan_out_index integer,
    depth smallint,
    forked_from uuid,
    after uuid[],
    source_ref text,
    node text COLLATE pg_catalog."C",
    CONSTRAINT jobs_source_check CHECK ((source = ANY (ARRAY['manual'::text, 'event'::text, 'schedule'::text, 'system'::text])))
);

ALTER TABLE ONLY plait.jobs FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait._ask_after(p_job plait.jobs, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_payloads json[];
  v_bad      text;
begin
  v_payloads := plait._check_jobs(
    plait.now(), p_ids, null, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, null, p_delays_s,
    p_timeouts_s, p_dedupe_keys, null, null, p_limit_keys, null, 'system');
  select min(d.name) into v_bad from plait.definitions d where not d.active and d.name = any(p_definitions);
  if v_bad is not null then
    raise exception 'definition % is inactive: it takes no new jobs', quote_literal(v_bad) using errcode = 'PL007';
  end if;
  if exists (select from plait.jobs where id = any(p_ids)) then
    raise exception 'a job''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
  end if;
  perform plait._own_nursery(p_job);
  perform from plait.fan_outs where id = p_job.id and decided_at is null and parent_final is null for no key update;
  if not found then
    raise exception 'job % is final: nothing can follow it any more', p_job.id using errcode = 'PL009';
  end if;
  insert into plait.follow_ups (job_id, id, tenant_id, timeout_s, delay_s, priority, max_attempts, definition, queue, dedupe_key, limit_key,
                                payload)
  select p_job.id, i.id, p_job.tenant_id, i.timeout_s, i.delay_s, coalesce(i.priority, d.priority, 100),
         coalesce(i.max_attempts, d.max_attempts, 5), i.definition, coalesce(i.queue, d.queue, 'default'), i.dedupe_key, i.limit_key, i.payload
  from unnest(p_ids, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts, p_timeouts_s, p_delays_s, p_dedupe_keys, p_limit_keys)
       i(id, definition, payload, queue, priority, max_attempts, timeout_s, delay_s, dedupe_key, limit_key)
  left join plait.definitions d on d.name = i.definition
  on conflict do nothing;
end $$;

CREATE FUNCTION plait._ask_nodes(p_now timestamp with time zone, p_jobs uuid[], p_always boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  j    plait.jobs;
  l    plait.live;
  v_id uuid;
begin
  for j in select * from plait.jobs where id = any(p_jobs) order by id loop
    select * into l from plait.live where job_id = j.id;
    v_id := plait._open_nodes(p_now, j, l.metered, 1, 1, p_always);
    if v_id is null then
      perform plait._release(l);
      continue;
    end if;
    update plait.live set attempt = 1, wait_on = 'fan_out ' || v_id where job_id = j.id;
    insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
    values (j.id, j.tenant_id, p_now, 1, 'suspended', 'fan_out ' || v_id);
  end loop;
end $$;

CREATE FUNCTION plait._backoff(p_tries integer, p_base_s double precision, p_factor double precision, p_max_s double precision, p_jitter double precision) RETURNS double precision
    LANGUAGE sql
    RETURN (LEAST((LEAST(COALESCE(p_base_s, (1)::double precision), ('3200000000'::numeric)::double precision) * (COALESCE(p_factor, (2)::double precision) ^ (LEAST((p_tries - 1), 60))::double precision)), COALESCE(p_max_s, (3600)::double precision), ('3200000000'::numeric)::double precision) * ((1)::double precision + (COALESCE(p_jitter, (0.2)::double precision) * (((2)::double precision * random()) - (1)::double precision))));

CREATE FUNCTION plait._between(p_marks plait.marks, p_tenants uuid[]) RETURNS TABLE(n bigint, tenant_id uuid, priority integer, mark timestamp with time zone, upto_priority integer)
    LANGUAGE sql IMMUTABLE
    AS $$
  select x.n, x.tenant_id, x.priority, x.mark, coalesce(lead(x.priority) over (partition by x.n order by x.priority), 32768)
  from (
    select t.n, t.tenant_id, -32769 as priority, '-infinity'::timestamptz as mark
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    union all
    select t.n, t.tenant_id, m.priority, m.mark
    from unnest(p_tenants) with ordinality t(tenant_id, n)
    join unnest((p_marks).tenants, (p_marks).priorities, (p_marks).marks) m(tenant_id, priority, mark) on m.tenant_id = t.tenant_id) x
$$;

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

CREATE FUNCTION plait._cancel_remaining(p_fan_out plait.fan_outs, p_now timestamp with time zone, p_limit integer DEFAULT 10000) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_orphans boolean := exists (select from plait.fan_outs o where o.id = p_fan_out.parent_id and o.parent_final is not null)
                       or not exists (select from plait.live l where l.job_id = p_fan_out.parent_id);
  v_nursery boolean := p_fan_out.strategy = 'nursery';
  v_late    boolean := p_fan_out.on_timeout is not null and p_fan_out.decision = 'succeeded' and v_orphans
    and (select a.final in ('succeeded', 'skipped') from plait.attempts a where a.job_id = p_fan_out.parent_id order by a.attempt desc limit 1);
  v_pending boolean := v_late or v_nursery and not (v_orphans and p_fan_out.cancel_on_parent_failure);
  v_reason  text := case when p_fan_out.on_timeout is not null then 'job_final' when not v_nursery then 'fan_out' when v_orphans then 'parent_failed' else 'sibling_failed' end;
  v_error   text := case when p_fan_out.on_timeout is not null then 'its job ended without it' when v_nursery and not v_orphans then 'a sibling failed before it could start'
                         when p_fan_out.decision = 'timeout' then 'its fan-out timed out'
                         when p_fan_out.decision = 'failed' then 'its fan-out failed' else 'its parent ended' end;
  v_jobs    uuid[];
  c         record;
begin
  v_jobs := array(select l.job_id from plait.live l
                  where l.root_id = p_fan_out.root_id and l.fan_out_id = p_fan_out.id and l.cancel_requested is null
                    and (not v_pending or l.state <> 'running' and (v_late or l.attempt = 0 or v_orphans and l.state <> 'waiting' and not l.tied))
                  limit p_limit);
  if cardinality(v_jobs) > 0 then
    c := plait._cancel_rows(p_now, v_jobs, v_reason, v_error);
    update plait.fan_outs set cancel_due = true
      where parent_id = any(c.o_canceled) and not cancel_due and succeeded + failed + canceled < total and strategy <> 'after';
  end if;
  if cardinality(v_jobs) < p_limit
     and not exists (select from plait.live l
                     where l.root_id = p_fan_out.root_id and l.fan_out_id = p_fan_out.id and l.cancel_requested is null
                       and (not v_pending or l.state <> 'running' and (v_late or l.attempt = 0 or v_orphans and l.state <> 'waiting' and not l.tied))) then
    update plait.fan_outs set cancel_due = false where id = p_fan_out.id and cancel_due;
  end if;
  return cardinality(v_jobs);
end $$;

CREATE FUNCTION plait._cancel_rows(p_now timestamp with time zone, p_jobs uuid[], p_reason text, p_error text, OUT o_canceled uuid[], OUT o_asked integer) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_workers  int[];
  v_fan_outs uuid[];
  v_worker   int;
begin
  with c as materialized (
    select l.job_id, l.tenant_id, l.state, l.worker, l.attempt, l.dedupe_key, l.fan_out_id from plait.live l
    where l.job_id = any(p_jobs) and l.cancel_requested is null order by l.job_id for update skip locked
  ), r as (
    update plait.live l set cancel_requested = p_now, cancel_reason = p_error from c
    where l.job_id = c.job_id and c.state = 'running' returning c.worker
  ), d as (
    delete from plait.live l using c where l.job_id = c.job_id and c.state <> 'running'
  ), k as (
    delete from plait.dedupe u using c where c.state <> 'running' and c.dedupe_key is not null
      and u.tenant_id = c.tenant_id and u.key = c.dedupe_key and u.job_id = c.job_id
  ), a as (
    insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, final, reason, error)
    select c.job_id, c.tenant_id, p_now, c.attempt + 1, 'canceled', 'canceled', p_reason, p_error from c where c.state <> 'running'
  )
  select array_agg(c.job_id) filter (where c.state <> 'running'), array_agg(c.fan_out_id) filter (where c.state <> 'running'),
         array_agg(distinct c.worker) filter (where c.state = 'running'), count(*) filter (where c.state = 'running')
    into o_canceled, v_fan_outs, v_workers, o_asked from c;
  if o_canceled is not null then
    perform plait._fan_in(p_now, o_canceled, v_fan_outs, array_fill('canceled'::plait.status, array[cardinality(o_canceled)]));
  end if;
  foreach v_worker in array coalesce(v_workers, '{}') loop
    perform pg_notify('plait', 'cancel ' || v_worker);
  end loop;
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
  -- Plain jobs of one definition and queue, as most calls bring: one look tells that nothing is wrong with them.
  v_plain := cardinality(p_definitions) = 1 and p_definitions[1] ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'
    and coalesce(cardinality(p_queues) = 1 and p_queues[1] ~ '^[A-Za-z0-9_.:-]{1,100}$', p_queues is null)
    and coalesce(cardinality(p_priorities) = 1 and p_priorities[1] between -32768 and 32767, p_priorities is null)
    and coalesce(cardinality(p_max_attempts) = 1 and p_max_attempts[1] between 1 and 10000, p_max_attempts is null)
    and num_nonnulls(p_scheduled_for, p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s,
                     p_limit_keys, p_correlation_ids) = 0;
  if v_plain and v_n = 1 then
    v_plain := p_ids[1] between v_low and v_high and get_byte(uuid_send(p_ids[1]), 6) >> 4 = 7 and octet_length(p_payloads[1]) <= 1048576;
  elsif v_plain then
    v_plain := not exists (select from unnest(p_ids, p_payloads) u(id, payload)
                           where id is null or id < v_low or id > v_high or get_byte(uuid_send(id), 6) >> 4 <> 7
                              or payload is null or octet_length(payload) > 1048576);
  end if;
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

CREATE FUNCTION plait._claim(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], p_seen_at timestamp with time zone, INOUT p_cursor uuid, INOUT p_lane_cursor text, INOUT p_marks plait.marks, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  q       plait.queues;
  h       record;
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
  -- The queue, and what is in it. Where marks say from where to look, nobody looks from the beginning.
  select x as queue, exists (select from plait.live l where l.queue = p_queue and l.lane <> '' and l.state = 'queued') as lanes,
         exists (select from plait.tenants where paused or weight <> 1 or max_running is not null) as special,
         case when (p_marks).tenants is null then
           (select l.tenant_id from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued' order by l.tenant_id limit 1) end as first,
         case when (p_marks).tenants is null then
           (select l.tenant_id from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued' order by l.tenant_id desc limit 1) end as last
    into h from (select) one left join plait.queues x on x.name = p_queue;
  q := h.queue;
  if q.name is not null then
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

  if q.serial then
    t := plait._claim_serial(p_worker, p_now, p_queue, p_limit, p_definitions);
    o_jobs := t.o_jobs; o_attempts := t.o_attempts; o_tries := t.o_tries; o_max := t.o_max;
    if q.rate_count is not null and cardinality(o_jobs) > 0 then
      perform plait._tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now, cardinality(o_jobs));
    end if;
    return;
  end if;
  v_lanes := h.lanes;
  v_main := h.first is not null or (p_marks).tenants is not null;
  if v_lanes and (p_marks).tenants is not null then
    v_main := exists (select from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued');
  end if;
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
    t := plait._take(p_worker, p_now, p_queue, '', p_limit - cardinality(o_jobs), p_definitions, p_marks, p_cursor,
                     case when h.first = h.last then h.first end, h.special);
    p_cursor := t.p_cursor;
    if cardinality(t.o_jobs) >= 100 and p_seen_at is not null then
      if t.o_tenants[1] = all(t.o_tenants) and t.o_priorities[1] = all(t.o_priorities) then
        t.o_tenants := t.o_tenants[1:1]; t.o_priorities := t.o_priorities[1:1];
      end if;
      p_marks := plait._advance(p_marks, p_seen_at, p_queue, p_definitions, t.o_tenants, t.o_priorities);
    end if;
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

CREATE FUNCTION plait._claim_serial(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  c_first constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last  constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_root  uuid := plait._holder(p_queue);
  v_ids   uuid[];
  l       plait.live;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  if v_root is null then
    perform from plait.queues where name = p_queue for update skip locked;
    if not found then
      return;  -- another takes a root just now
    end if;
    v_root := plait._holder(p_queue);
  end if;
  if v_root is null then
    p_limit := 1;
    v_ids := array(
      select c.job_id from (
        select y.* from unnest(plait._tenants(p_queue, '', c_first, c_last, 1000)) t cross join lateral (
          select v.job_id, v.priority, v.run_at from plait.live v
          where v.queue = p_queue and v.lane = '' and v.state = 'queued' and v.tenant_id = t and v.definition = any(p_definitions)
          order by v.priority, v.run_at, v.job_id limit 3) y
        union all
        (select v.job_id, v.priority, v.run_at from plait.live v
         where v.queue = p_queue and v.lane <> '' and v.state = 'queued' and v.definition = any(p_definitions)
         order by v.priority, v.run_at, v.job_id limit 20)) c
      order by c.priority, c.run_at, c.job_id limit 50);
  else
    v_ids := array(
      select c.job_id from (
        select v.job_id, v.priority, v.run_at, 0 as depth from plait.live v
        where v.job_id = v_root and v.state = 'queued' and v.queue = p_queue and v.definition = any(p_definitions)
        union all
        select y.*, f.depth from plait.fan_outs f cross join lateral (
          select v.job_id, v.priority, v.run_at from plait.live v
          where v.root_id = v_root and v.fan_out_id = f.id and v.state = 'queued' and v.queue = p_queue and v.definition = any(p_definitions)
          order by v.priority, v.run_at, v.job_id limit p_limit * 4) y
        where f.root_id = v_root and f.succeeded + f.failed + f.canceled < f.total) c
      order by c.depth desc, c.priority, c.run_at, c.job_id limit p_limit * 4);
  end if;
  for l in
    select v.* from plait.live v where v.job_id = any(v_ids) and v.state = 'queued'
    order by array_position(v_ids, v.job_id) for update skip locked
  loop
    exit when cardinality(o_jobs) >= p_limit;
    continue when not plait._serves(p_worker, l.lane);
    continue when l.lane like 'suspect%'
      and exists (select from plait.live v where v.state = 'running' and v.worker = p_worker and v.lane like 'suspect%');
    continue when exists (select from plait.tenants t where t.id = l.tenant_id and (t.paused or t.max_running is not null))
      and exists (select from plait._shares(array[l.tenant_id], 1) s where s.cap <= 0);
    if l.lane <> '' then
      continue when plait._room(l.definition, l.tenant_id, l.limit_key, p_now) <= 0;
      perform plait._room(l.definition, l.tenant_id, l.limit_key, p_now, 1);
    end if;
    update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now where job_id = l.job_id;
    o_jobs := o_jobs || l.job_id; o_attempts := o_attempts || l.attempt + 1; o_tries := o_tries || l.tries; o_max := o_max || l.max_attempts;
    if v_root is null then
      update plait.queues set roots = array[coalesce(l.root_id, l.job_id)] where name = p_queue;
    end if;
  end loop;
end $$;

CREATE FUNCTION plait._count_minutes(p_from timestamp with time zone, p_to timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare v_shift interval := clock_timestamp() - plait.now();  -- clock: ids are made by the physical one
begin
  delete from plait.minutes where minute >= p_from and minute < p_to;
  insert into plait.minutes (tenant_id, minute, succeeded, failed, dead_letter, canceled, skipped, retried, lost, run_s)
  select a.tenant_id, date_trunc('minute', a.finished_at), count(*) filter (where a.final = 'succeeded'),
         count(*) filter (where a.final = 'failed'), count(*) filter (where a.final = 'dead_letter'),
         count(*) filter (where a.final = 'canceled'), count(*) filter (where a.final = 'skipped'),
         count(*) filter (where a.final is null and a.status in ('failed', 'timeout')), count(*) filter (where a.status = 'lost'),
         coalesce(sum(extract(epoch from a.finished_at - a.started_at)), 0)
  from plait.attempts a where a.finished_at >= p_from and a.finished_at < p_to group by 1, 2;
  insert into plait.minutes as m (tenant_id, minute, enqueued)
  select j.tenant_id, date_trunc('minute', j.created_at), count(*) from plait.jobs j
  where j.id >= plait._uuid_floor(greatest(p_from + v_shift - interval '10 minutes', 'epoch'))
    and j.id < plait._uuid_floor(p_to + v_shift + interval '1 minute') and j.created_at >= p_from and j.created_at < p_to
  group by 1, 2
  on conflict (tenant_id, minute) do update set enqueued = excluded.enqueued;
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

CREATE FUNCTION plait._decide(p_fan_out plait.fan_outs, p_now timestamp with time zone, p_decision text, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  f       plait.fan_outs;
  v_ended int := p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled;
  r       record;
begin
  update plait.fan_outs o set
    decided_at = p_now, decision = p_decision, decided_ended = v_ended,
    rule = case when o.on_timeout is null then null
                when p_decision = 'failed' then case o.on_node_failure when 'fail' then 'node_failed' else 'quorum_lost' end
                when p_decision = 'succeeded' and p_fan_out.succeeded >= o.needed then 'quorum' else 'timeout' end,
    cancel_due = v_ended < o.total and (o.cancel_due or p_decision <> 'succeeded' and o.cancel_remaining),
    left_open = case when v_ended < o.total then
      array(select (select j.fan_out_index from plait.jobs j where j.id = l.job_id) from plait.live l
            where l.root_id = o.root_id and l.fan_out_id = o.id order by 1) end
  where o.id = p_fan_out.id and o.decided_at is null
  returning o.* into f;
  if found and f.waited_for is not null then
    r := plait._resume_parent(f, p_now);
    o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
  end if;
end $$;

CREATE FUNCTION plait._depend(p_now timestamp with time zone, p_ids uuid[], p_policies text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  r       record;
  f       plait.fan_outs;
  v_bad   uuid;
  v_total int;
  v_depth int;
begin
  perform from plait.live l
    where l.job_id in (select u from plait.jobs j cross join unnest(j.after) u where j.id = any(p_ids)) order by l.job_id for no key update;
  for r in
    select j.id, j.tenant_id, coalesce(i.policy, 'cancel') as policy, array(select distinct u from unnest(j.after) u order by 1) as after
    from unnest(p_ids, p_policies) with ordinality i(id, policy, n) join plait.jobs j on j.id = i.id
    where j.after is not null order by i.n
  loop
    if r.policy not in ('cancel', 'run') then
      raise exception 'on_dependency_failure is cancel or run, not %', quote_literal(left(r.policy, 80)) using errcode = 'PL001';
    end if;
    select u into v_bad from unnest(r.after) u where not exists (select from plait.jobs j where j.id = u and j.tenant_id = r.tenant_id) limit 1;
    if found then
      raise exception 'there is no job % to wait for', v_bad using errcode = 'PL008';
    end if;
    -- Of those that are asked for together each waits only for earlier ones: so there are no cycles, and what one has come to is known.
    select u into v_bad from unnest(r.after) u join plait.jobs j on j.id = u
      where j.after is not null and not exists (select from plait.fan_outs o where o.parent_id = u and o.strategy = 'after') limit 1;
    if found then
      raise exception 'a job can wait only for jobs that were asked for before it, not for itself or a later one: %', v_bad using errcode = 'PL001';
    end if;
    v_total := cardinality(r.after);
    v_depth := least(0, (select min(o.depth) from plait.fan_outs o where o.parent_id = any(r.after) and o.strategy = 'after')) - 1;
    if v_depth < -30000 then
      raise exception 'a graph is at most 30000 jobs deep' using errcode = 'PL001';
    end if;
    insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, depth, total, needed, waited_for, early, streamed, nested,
                                cancel_remaining, cancel_on_parent_failure, strategy, succeeded, failed, canceled)
    select plait.uuidv7(), r.tenant_id, r.id, r.id, p_now,
           v_depth, v_total, case when r.policy = 'cancel' then v_total else 0 end, v_total, false, false, true, false, false, 'after',
           count(*) filter (where a.final in ('succeeded', 'skipped')), count(*) filter (where a.final in ('failed', 'dead_letter')),
           count(*) filter (where a.final = 'canceled')
    from (select (select t.final from plait.attempts t where t.job_id = u and not exists (select from plait.live l where l.job_id = u)
                  order by t.attempt desc limit 1) as final from unnest(r.after) u) a
    returning * into f;
    update plait.live set tied = true where job_id = any(r.after) and not tied;
    insert into plait.dependencies (on_id, fan_out_id, tenant_id)
    select l.job_id, f.id, r.tenant_id from plait.live l where l.job_id = any(r.after);
    update plait.live set wait_on = 'fan_out ' || f.id where job_id = r.id;
    perform plait._judge(f, p_now);
  end loop;
end $$;

CREATE FUNCTION plait._depose(p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  l        plait.live;
  v_holder text := (select holder from plait.leader where name = 'main');
  v_queues text[];
  v_ended  uuid[];
  v_fans   uuid[];
  v_n      int := 0;
begin
  for l in
    select v.* from plait.live v join plait.workers w on w.id = v.worker
    where v.lane in ('leader', 'suspect:leader') and v.state = 'running' and w.holder is distinct from v_holder
    order by v.job_id for update of v skip locked
  loop
    v_n := v_n + 1;
    if l.cancel_requested is not null then
      perform plait._end(l, p_now, 'canceled', 'canceled', 'deposed', l.cancel_reason);
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id;
    else
      perform plait._hand_back(l, p_now);
      v_queues := v_queues || l.queue;
    end if;
  end loop;
  if v_ended is not null then
    perform plait._fan_in(p_now, v_ended, v_fans, array_fill('canceled'::plait.status, array[cardinality(v_ended)]));
  end if;
  if v_queues is not null then
    perform plait._wake(v_queues);
  end if;
  return v_n;
end $$;

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
    root_id uuid,
    fan_out_id uuid,
    wake_at timestamp with time zone,
    wait_on text,
    tied boolean DEFAULT false NOT NULL,
    CONSTRAINT live_leader_is_tied CHECK ((tied OR (lane <> ALL (ARRAY['leader'::text, 'suspect:leader'::text])))),
    CONSTRAINT live_only_running_is_asked_to_stop CHECK (((cancel_requested IS NULL) OR (state = 'running'::plait.status))),
    CONSTRAINT live_only_waiting_waits_on CHECK ((((wait_on IS NULL) AND (wake_at IS NULL)) OR (state = 'waiting'::plait.status))),
    CONSTRAINT live_running_has_a_worker CHECK (((state = 'running'::plait.status) = (worker IS NOT NULL))),
    CONSTRAINT live_state CHECK ((state = ANY (ARRAY['scheduled'::plait.status, 'queued'::plait.status, 'running'::plait.status, 'waiting'::plait.status])))
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0', fillfactor='45');

ALTER TABLE ONLY plait.live FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait._end(p_live plait.live, p_now timestamp with time zone, p_status plait.ending, p_final plait.status, p_reason text, p_error text, p_result json DEFAULT NULL::json, p_started_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare v_ran boolean := p_live.state = 'running';
begin
  delete from plait.live where job_id = p_live.job_id;
  if p_live.dedupe_key is not null then
    delete from plait.dedupe where tenant_id = p_live.tenant_id and key = p_live.dedupe_key and job_id = p_live.job_id;
  end if;
  insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, reason, error, progress,
                              result)
  values (p_live.job_id, p_live.tenant_id, case when v_ran then p_live.run_at end, case when v_ran then coalesce(p_started_at, p_live.run_at) end, p_now,
          case when v_ran then p_live.attempt else p_live.attempt + 1 end, p_live.worker, p_status, p_final, p_reason, p_error,
          (select progress from plait.running_state r where r.job_id = p_live.job_id and r.attempt = p_live.attempt), p_result);
  delete from plait.running_state where job_id = p_live.job_id;
  if p_final = 'succeeded' and p_live.tied then
    perform plait._follow(p_live);
  end if;
end $$;

CREATE FUNCTION plait._end_of_nodes(p_fan_out plait.fan_outs, p_definition text, OUT o_final plait.status, OUT o_reason text, OUT o_error text, OUT o_result json) RETURNS record
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
declare v_silent text;
begin
  if p_fan_out.decision <> 'succeeded' then
    o_final := 'failed';
    o_reason := case p_fan_out.rule when 'timeout' then 'quorum_timeout' else p_fan_out.rule end;
    if p_fan_out.rule = 'timeout' then
      select string_agg(j.node, ', ' order by j.node) into v_silent from plait.jobs j
        where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and j.fan_out_index = any(p_fan_out.left_open);
      o_error := format('%s of %s nodes were done within %s s, and %s had to be; not heard of: %s', p_fan_out.succeeded, p_fan_out.total,
                        p_fan_out.timeout_s, p_fan_out.needed, v_silent);
    else
      o_error := plait._failures(p_fan_out);
    end if;
    return;
  end if;
  if p_fan_out.succeeded = p_fan_out.total and plait._all_skipped(p_fan_out) then
    o_final := 'skipped';
    o_reason := 'nodes_skipped';
    o_error := 'no node had anything to do';
  elsif not coalesce((select d.on_leader from plait.definitions d where d.name = p_definition), true) then
    o_final := 'succeeded';
    select json_object_agg(j.node, a.result order by j.node) into o_result from plait.jobs j
      cross join lateral (select t.result, t.final from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
      where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and a.final = 'succeeded'
        and (p_fan_out.left_open is null or not j.fan_out_index = any(p_fan_out.left_open));
    o_result := coalesce(o_result, '{}');
  end if;
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

CREATE FUNCTION plait._failed_last(p_job uuid) RETURNS uuid
    LANGUAGE sql
    AS $$
  select f.id from (select s.* from plait.steps s where s.job_id = p_job order by s.seq desc limit 1) s
  join plait.fan_outs f on f.parent_id = p_job and f.id <> p_job and f.decision <> 'succeeded'
    and f.id = case when s.kind = 'spawn' then (select j.fan_out_id from plait.jobs j where j.id = (s.value -> 'ids' ->> -1)::uuid)
                    else s.fan_out_id end
$$;

CREATE FUNCTION plait._failures(p_fan_out plait.fan_outs) RETURNS text
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    AS $$
  with n as (
    select f.id, f.total, f.failed + f.canceled as lost from plait.fan_outs f
    where f.parent_id = p_fan_out.parent_id and (f.id = p_fan_out.id or f.strategy = 'nursery' and f.decided_at is null)
  )
  select format('%s of %s children did not succeed: %s%s', (select sum(lost) from n), (select sum(total) from n),
                string_agg(format('%s %s %s%s', c.definition, c.id, c.final, coalesce(': ' || left(coalesce(c.error, c.reason), 200), '')), '; '
                           order by c.id),
                (select format(' and %s more', sum(lost) - 10) from n having sum(lost) > 10))
  from (select o.* from n cross join lateral (
          select j.id, j.definition, a.final, a.error, a.reason from plait.jobs j
          cross join lateral (select t.final, t.error, t.reason from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
          where j.root_id = p_fan_out.root_id and j.fan_out_id = n.id and a.final in ('failed', 'dead_letter', 'canceled')
          order by j.fan_out_index limit 10) o
        order by o.id limit 10) c
$$;

CREATE FUNCTION plait._fan_in(p_now timestamp with time zone, p_jobs uuid[], p_fan_outs uuid[], p_finals plait.status[], p_returned uuid[] DEFAULT NULL::uuid[], p_outcomes plait.status[] DEFAULT NULL::plait.status[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_nestloop TO 'on'
    AS $$
declare
  f         plait.fan_outs;
  e         record;
  v_depth   int := 32768;
  v_lowest  int;
  v_level   uuid[];
  v_jobs    uuid[];            -- what has ended by this level, and where it is to be counted
  v_fans    uuid[];
  v_finals  plait.status[];
  v_ended   int;
  v_orphans uuid[];
begin
  with d as (
    delete from plait.dependencies d using unnest(p_jobs, p_finals) x(job, final) where d.on_id = x.job
    returning d.on_id as job, d.fan_out_id as fan_out, x.final
  ), x as (
    select * from unnest(p_jobs, p_fan_outs, p_finals) x(job, fan_out, final)
    union all select * from d
    union all select null, r, null from unnest(p_returned) r
  )
  select array_agg(x.job), array_agg(x.fan_out), array_agg(x.final), array_agg(x.job) filter (where x.final not in ('succeeded', 'skipped'))
    into p_jobs, p_fan_outs, p_finals, v_orphans from x;
  v_orphans := v_orphans || (select array_agg(x.id) from unnest(p_returned, p_outcomes) x(id, outcome) where x.outcome is not null);
  loop
    select max(o.depth), min(o.depth) into v_depth, v_lowest from plait.fan_outs o
      where (o.id = any(p_fan_outs) or o.parent_id = any(v_orphans)) and o.depth < v_depth;
    exit when v_depth is null;
    -- Of a job that may end by this all fan-outs: its own nursery is decided by all its nurseries, and then what it has open is orphaned.
    v_level := array(
      select o.id from plait.fan_outs o
        where (o.id = any(p_fan_outs) or o.parent_id = any(v_orphans) or o.parent_id = any(p_fan_outs)) and o.depth = v_depth
      union
      select o.parent_id from plait.fan_outs o where o.id = any(p_fan_outs) and o.depth = v_depth and o.strategy = 'nursery');
    perform from plait.fan_outs o where o.id = any(v_level) order by o.id for no key update;
    v_jobs := null; v_fans := null; v_finals := null;
    if v_orphans is not null then
      update plait.fan_outs set cancel_due = true
        where parent_id = any(v_orphans) and depth = v_depth and (cancel_on_parent_failure or strategy = 'nursery') and not cancel_due
          and succeeded + failed + canceled < total;
    end if;

    for f in
      update plait.fan_outs o
        set succeeded = o.succeeded + c.succeeded, failed = o.failed + c.failed, canceled = o.canceled + c.canceled,
            waited_for = case when o.id = any(p_returned) then o.total else o.waited_for end,
            parent_final = coalesce(o.parent_final, p_outcomes[array_position(p_returned, o.id)])
      from (select x.fan_out, count(*) filter (where x.final in ('succeeded', 'skipped')) as succeeded,
                   count(*) filter (where x.final in ('failed', 'dead_letter')) as failed,
                   count(*) filter (where x.final = 'canceled') as canceled
            from unnest(p_fan_outs, p_finals) x(fan_out, final) where x.fan_out is not null group by 1) c
      where o.id = c.fan_out and o.depth = v_depth
      returning o.*
    loop
      if f.streamed then
        v_ended := f.succeeded + f.failed + f.canceled;
        insert into plait.fan_out_order (fan_out_id, tenant_id, position, fan_out_index)
        select f.id, f.tenant_id, v_ended - x.n + x.i, x.fan_out_index
        from (select u.fan_out_index, row_number() over (order by u.fan_out_index) as i, count(*) over () as n
              from (select (select j.fan_out_index from plait.jobs j where j.id = y.job) as fan_out_index
                    from unnest(p_jobs, p_fan_outs) y(job, fan_out) where y.fan_out = f.id) u) x;
      end if;
      if f.serial and (f.turn is null or f.turn = any(p_jobs)) then
        perform plait._next_turn(f);
      end if;
      e := plait._judge(f, p_now);
      if e.o_job is not null then
        -- It is final by this: its own fan-out counts it on the next level, and so do those of who depends on it.
        v_jobs := v_jobs || e.o_job; v_fans := v_fans || e.o_fan_out; v_finals := v_finals || e.o_final;
        if e.o_tied then
          with d as (delete from plait.dependencies where on_id = e.o_job returning fan_out_id)
          select v_jobs || array_agg(e.o_job), v_fans || array_agg(d.fan_out_id), v_finals || array_agg(e.o_final)
            into v_jobs, v_fans, v_finals from d;
          if e.o_final not in ('succeeded', 'skipped') then
            update plait.fan_outs set cancel_due = true
              where parent_id = e.o_job and (cancel_on_parent_failure or strategy = 'nursery') and not cancel_due
                and succeeded + failed + canceled < total;
          end if;
        end if;
      end if;
    end loop;
    if v_depth = v_lowest then  -- all others are counted
      p_jobs := v_jobs; p_fan_outs := v_fans; p_finals := v_finals; v_orphans := null;
    else
      p_jobs := p_jobs || v_jobs; p_fan_outs := p_fan_outs || v_fans; p_finals := p_finals || v_finals;
    end if;
  end loop;
end $$;

CREATE FUNCTION plait._fetch(p_jobs uuid[], p_attempts integer[], p_tries smallint[], p_max smallint[]) RETURNS TABLE(o_jobs uuid[], o_attempts integer[], o_tries smallint[], o_max smallint[], o_tenants uuid[], o_definitions text[], o_queues text[], o_payloads text[], o_timeouts double precision[], o_correlations text[])
    LANGUAGE sql STABLE ROWS 1
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

CREATE FUNCTION plait._fetch_alike(p_jobs uuid[]) RETURNS TABLE(o_jobs uuid[], o_tenants uuid[], o_definitions text[], o_queues text[], o_payloads text[], o_timeouts double precision[], o_correlations text[])
    LANGUAGE sql STABLE ROWS 1
    AS $$
  select array_agg(s.id), array_agg(s.tenant_id), array_agg(s.definition),
         case when min(s.queue) < max(s.queue) then array_agg(s.queue) else array[min(s.queue)] end, array_agg(s.payload::text),
         case when count(s.timeout_s) > 0 then array_agg(s.timeout_s) end,
         case when count(s.correlation_id) > 0 then array_agg(s.correlation_id) end
  from (select j.id, j.tenant_id, j.definition, j.queue, j.payload, j.timeout_s, j.correlation_id
        from plait.jobs j where j.id = any(p_jobs) order by j.priority, j.id) s
$$;

CREATE FUNCTION plait._final(p_cancel_requested timestamp with time zone, p_outcome text, p_permanent boolean, p_tries smallint, p_max_attempts smallint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
  select case when p_cancel_requested is not null then 'canceled'
              when p_outcome = 'skipped' then 'skipped'
              when p_outcome not in ('failed', 'timeout') then null
              when p_permanent then 'failed'
              when p_tries + 1 >= p_max_attempts then 'dead_letter' end
$$;

CREATE FUNCTION plait._fingerprint(p_error text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "left"(md5(regexp_replace(regexp_replace("left"(split_part(COALESCE(p_error, ''::text), '
'::text, 1), 300), '''[^'']*''|"[^"]*"|`[^`]*`'::text, '?'::text, 'g'::text), '\m(0x)?[0-9a-f]*[0-9][0-9a-f]*(-[0-9a-f]+)*\M'::text, '#'::text, 'gi'::text)), 12);

CREATE TABLE plait.triggers (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    anchor_at timestamp with time zone NOT NULL,
    cursor_at timestamp with time zone NOT NULL,
    next_at timestamp with time zone,
    last_at timestamp with time zone,
    last_job_id uuid,
    fired bigint DEFAULT 0 NOT NULL,
    missed bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    every_s double precision,
    catch_up_window_s double precision,
    jitter_s double precision DEFAULT 0 NOT NULL,
    timeout_s double precision,
    dedupe_window_s integer DEFAULT 300 NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    priority smallint,
    max_attempts smallint,
    enabled boolean DEFAULT true NOT NULL,
    kind text NOT NULL,
    origin text NOT NULL,
    catch_up text DEFAULT 'one'::text NOT NULL,
    overlap text DEFAULT 'allow'::text NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    definition text NOT NULL COLLATE pg_catalog."C",
    event_name text COLLATE pg_catalog."C",
    cron text,
    time_zone text,
    queue text COLLATE pg_catalog."C",
    correlation_id text,
    dedupe_key text,
    limit_key text,
    created_by text NOT NULL,
    error text,
    payload json DEFAULT '{}'::json NOT NULL,
    CONSTRAINT triggers_catch_up_check CHECK ((catch_up = ANY (ARRAY['none'::text, 'one'::text, 'all'::text, 'window'::text]))),
    CONSTRAINT triggers_catch_up_window_s_check CHECK (((catch_up_window_s >= (0)::double precision) AND (catch_up_window_s <= ('320000000'::numeric)::double precision))),
    CONSTRAINT triggers_correlation_id_check CHECK (((length(correlation_id) >= 1) AND (length(correlation_id) <= 500))),
    CONSTRAINT triggers_cron_check CHECK ((cron ~ '^\S{1,200}( \S{1,200}){4}$'::text)),
    CONSTRAINT triggers_dedupe_key_check CHECK (((length(dedupe_key) >= 1) AND (length(dedupe_key) <= 500))),
    CONSTRAINT triggers_dedupe_window_s_check CHECK (((dedupe_window_s >= 0) AND (dedupe_window_s <= 2592000))),
    CONSTRAINT triggers_definition_check CHECK (((definition COLLATE "default") ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'::text)),
    CONSTRAINT triggers_event_name_check CHECK ((event_name ~ '^[A-Za-z0-9_.:/-]{1,200}$'::text)),
    CONSTRAINT triggers_every_s_check CHECK (((every_s >= (1)::double precision) AND (every_s <= ('320000000'::numeric)::double precision))),
    CONSTRAINT triggers_jitter_s_check CHECK (((jitter_s >= (0)::double precision) AND (jitter_s <= (86400)::double precision))),
    CONSTRAINT triggers_kind CHECK (
CASE kind
    WHEN 'event'::text THEN ((event_name IS NOT NULL) AND (num_nonnulls(cron, every_s, time_zone) = 0) AND (overlap = 'allow'::text))
    WHEN 'schedule'::text THEN ((event_name IS NULL) AND (num_nonnulls(cron, every_s) = 1))
    ELSE false
END),
    CONSTRAINT triggers_label_check CHECK (((label COLLATE "default") ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'::text)),
    CONSTRAINT triggers_limit_key_check CHECK (((length(limit_key) >= 1) AND (length(limit_key) <= 500))),
    CONSTRAINT triggers_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 10000))),
    CONSTRAINT triggers_origin_check CHECK ((origin = ANY (ARRAY['code'::text, 'api'::text]))),
    CONSTRAINT triggers_overlap_check CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text, 'queue'::text]))),
    CONSTRAINT triggers_payload_check CHECK (((json_typeof(payload) = 'object'::text) AND (octet_length((payload)::text) <= 65536))),
    CONSTRAINT triggers_queue_check CHECK ((queue ~ '^[A-Za-z0-9_.:-]{1,100}$'::text)),
    CONSTRAINT triggers_timeout_s_check CHECK (((timeout_s > (0)::double precision) AND (timeout_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT triggers_window CHECK (((catch_up = 'window'::text) = (catch_up_window_s IS NOT NULL)))
);

ALTER TABLE ONLY plait.triggers FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait._fire(t plait.triggers, p_now timestamp with time zone, p_instant timestamp with time zone, p_event uuid, p_payload json, p_dedupe_key text, p_correlation_id text, p_limit_key text, p_error text, p_held uuid DEFAULT NULL::uuid, OUT o_outcome text, OUT o_job uuid) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  v_fire   uuid := coalesce(p_held, plait.uuidv7());
  v_window text := coalesce(p_dedupe_key, case when p_event is not null then md5(p_payload::text) end);
  v_held   json;
  v_error  text := p_error;
  v_due    timestamptz;
  v_id     uuid := plait.uuidv7();
begin
  if p_held is null then
    insert into plait.fires (id, tenant_id, trigger_id, at, instant, event_id, outcome)
    values (v_fire, t.tenant_id, t.id, p_now, p_instant, p_event, 'refused') on conflict do nothing;
    if not found then
      return;
    end if;
  end if;
  o_outcome := 'enqueued';
  if v_error is not null then
    o_outcome := 'refused';
  elsif p_held is null and t.dedupe_window_s > 0 and v_window is not null then
    select f.job_id into o_job from plait.fires f
      where f.trigger_id = t.id and f.window_key = v_window and f.outcome in ('enqueued', 'held')
        and f.at > p_now - make_interval(secs => t.dedupe_window_s) order by f.at desc limit 1;
    if found then
      o_outcome := 'deduplicated';
    end if;
  end if;
  if o_outcome = 'enqueued' and t.overlap <> 'allow' and p_held is null
     and (exists (select from plait.live l where l.job_id = t.last_job_id)
          or t.overlap = 'queue' and exists (select from plait.fires f where f.trigger_id = t.id and f.outcome = 'held')) then
    o_outcome := case when t.overlap = 'queue'
                       and (select count(*) from plait.fires f where f.trigger_id = t.id and f.outcome = 'held') < 100
                      then 'held' else 'skipped' end;
    v_held := case when o_outcome = 'held' then json_build_object(
      'payload', p_payload, 'dedupe_key', p_dedupe_key, 'correlation_id', p_correlation_id, 'limit_key', p_limit_key) end;
  end if;
  if o_outcome = 'enqueued' then
    -- The same for whoever works it out: by the trigger and the instant.
    v_due := p_instant + make_interval(secs => t.jitter_s * ((hashtextextended(t.id::text || p_instant, 0) & 1048575) / 1048576.0));
    begin
      select e.existing into o_job from plait.enqueue_many(
        array[v_id], array[t.definition], array[p_payload::text], p_tenants => array[t.tenant_id], p_queues => array[t.queue],
        p_priorities => array[t.priority::int], p_max_attempts => array[t.max_attempts::int],
        p_scheduled_for => case when v_due > p_now then array[v_due] end,
        p_timeouts_s => case when t.timeout_s is not null then array[t.timeout_s] end,
        p_dedupe_keys => case when p_dedupe_key is not null then array[p_dedupe_key] end,
        p_limit_keys => case when p_limit_key is not null then array[p_limit_key] end,
        p_correlation_ids => case when p_correlation_id is not null then array[p_correlation_id] end,
        p_source => t.kind, p_in_transaction => false) e;
      if o_job is not null then
        o_outcome := 'deduplicated';
      else
        o_job := v_id;
        update plait.jobs set source_ref = coalesce(p_event, t.id)::text where id = v_id;
      end if;
    exception when sqlstate 'PL001' or sqlstate 'PL003' or sqlstate 'PL005' or sqlstate 'PL007' then
      o_outcome := 'refused';
      v_error := sqlerrm;
    end;
  end if;
  update plait.fires set outcome = o_outcome, job_id = o_job, window_key = v_window, error = left(v_error, 2000), held = v_held
    where id = v_fire;
  if o_outcome = 'enqueued' then
    update plait.triggers set fired = fired + 1, last_at = coalesce(p_instant, p_now), last_job_id = o_job where id = t.id;
  elsif o_outcome = 'skipped' then
    update plait.triggers set skipped = skipped + 1 where id = t.id;
  end if;
end $$;

CREATE FUNCTION plait._follow(p_live plait.live) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_now    timestamptz;
  v_queues text[];
  v_jobs   uuid[];
  v_definitions text[];
  v_keyed  uuid[] := '{}';
  u        plait.follow_ups;
begin
  if not exists (select from plait.follow_ups where job_id = p_live.job_id) then
    return;
  end if;
  update plait.tenants set quota_left = null where id = p_live.tenant_id and max_queued is not null;  -- count them anew
  -- An id that somebody has used meanwhile is no reason to fail.
  delete from plait.follow_ups f where f.job_id = p_live.job_id and exists (select from plait.jobs j where j.id = f.id);
  for u in select * from plait.follow_ups where job_id = p_live.job_id and dedupe_key is not null order by dedupe_key, id loop
    insert into plait.dedupe (tenant_id, key, job_id) values (u.tenant_id, u.dedupe_key, u.id) on conflict do nothing;
    if not found then
      v_keyed := v_keyed || u.id;  -- another job stands for it
    end if;
  end loop;
  v_now := plait._moment();
  with gone as (
    delete from plait.follow_ups where job_id = p_live.job_id returning *
  ), c as (
    insert into plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source,
                            correlation_id, dedupe_key, limit_key, payload)
    select g.id, g.tenant_id, v_now, v_now + make_interval(secs => g.delay_s), g.timeout_s, g.priority, g.max_attempts, g.definition, g.queue,
           'system', (select j.correlation_id from plait.jobs j where j.id = p_live.job_id), g.dedupe_key, g.limit_key, g.payload
    from gone g where not g.id = any(v_keyed)
    on conflict do nothing
    returning *
  ), l as (
    insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key, limit_key, tied)
    select c.id, c.tenant_id, case when c.scheduled_for > v_now then c.scheduled_for else v_now end, c.priority, c.max_attempts,
           case when c.scheduled_for > v_now then 'scheduled' else 'queued' end::plait.status,
           exists (select from plait.tenants t where t.id = c.tenant_id and t.max_queued is not null), c.queue,
           plait._lane(c.definition, c.tenant_id, c.limit_key), c.definition, c.dedupe_key, c.limit_key,
           exists (select from plait.definitions d where d.name = c.definition and d.kind = 'node')
    from c returning queue, job_id, definition
  )
  select array_agg(distinct queue), array_agg(job_id), array_agg(definition) into v_queues, v_jobs, v_definitions from l;
  if v_queues is not null then
    perform plait._make_searchable(v_jobs, v_definitions);
    perform plait._wake(v_queues);
  end if;
end $$;

CREATE FUNCTION plait._forget(p_jobs uuid[], p_archive boolean) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
declare v_archive text[] := case when p_archive then plait._archive(p_jobs) end;
begin
  delete from plait.attempts where job_id = any(p_jobs);
  delete from plait.search_values where job_id = any(p_jobs);
  delete from plait.idempotency where job_id = any(p_jobs);
  delete from plait.steps where job_id = any(p_jobs);
  delete from plait.signals where job_id = any(p_jobs);
  delete from plait.fan_out_order where fan_out_id in (select id from plait.fan_outs where parent_id = any(p_jobs));
  delete from plait.dependencies where on_id = any(p_jobs);
  delete from plait.follow_ups where job_id = any(p_jobs);
  delete from plait.fan_outs where parent_id = any(p_jobs);
  update plait.artifacts set expires_at = plait.now() where job_id = any(p_jobs) and doomed_at is null;   -- the next sweep takes them
  delete from plait.jobs where id = any(p_jobs);
  return v_archive;
end $$;

CREATE FUNCTION plait._give_back(p_worker integer, p_now timestamp with time zone, p_reason text, p_held uuid[], p_held_attempts integer[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$
declare
  l        plait.live;
  v_n      int := 0;
  v_back   int;
  v_queues text[];
  v_ended  uuid[] := '{}';
  v_fans   uuid[] := '{}';
begin
  for l in
    select v.* from plait.live v
    where v.worker = p_worker and v.cancel_requested is not null
      and not exists (select from unnest(p_held, p_held_attempts) h(id, attempt) where h.id = v.job_id and h.attempt = v.attempt)
    order by v.job_id for update skip locked
  loop
    perform plait._end(l, p_now, 'canceled', 'canceled', p_reason, l.cancel_reason);
    v_n := v_n + 1;
    v_ended := v_ended || l.job_id;
    v_fans := v_fans || l.fan_out_id;
  end loop;
  if v_n > 0 then
    perform plait._fan_in(p_now, v_ended, v_fans, array_fill('canceled'::plait.status, array[v_n]));
  end if;

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

CREATE FUNCTION plait._hand_back(p_live plait.live, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update plait.live set state = 'queued', worker = null, run_at = plait._moment() where job_id = p_live.job_id;
  insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, error, progress)
  values (p_live.job_id, p_live.tenant_id, p_live.run_at, p_live.run_at, p_now, p_live.attempt, p_live.worker, 'lost', 'deposed',
          'another process leads: what this one did as the leader does not count',
          (select progress from plait.running_state r where r.job_id = p_live.job_id and r.attempt = p_live.attempt));
  delete from plait.running_state where job_id = p_live.job_id;
end $$;

CREATE FUNCTION plait._has_keys(p_payload json, p_wanted json) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
  select not exists (
    select from json_each_text(p_wanted) w where plait._payload_value(p_payload, w.key) is distinct from w.value)
$$;

CREATE FUNCTION plait._has_open(p_job uuid) RETURNS boolean
    LANGUAGE sql
    AS $$
  select exists (select from plait.fan_outs f where f.parent_id = p_job and f.strategy = 'nursery'
                   and f.succeeded + f.failed + f.canceled < f.total)
$$;

CREATE FUNCTION plait._hold(p_worker integer, p_job uuid, p_attempt integer) RETURNS plait.live
    LANGUAGE sql
    AS $$
  select l from plait.live l where l.job_id = p_job and l.attempt = p_attempt and l.worker + 0 = p_worker
    and (l.lane not in ('leader', 'suspect:leader') or plait._led(p_worker, l.run_at)) for update
$$;

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

CREATE FUNCTION plait._holder(p_queue text) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
begin
  return (
    select r.root from plait.queues q cross join unnest(q.roots) with ordinality r(root, n)
    where q.name = p_queue and q.serial
      and (exists (select from plait.live l where l.job_id = r.root) or exists (select from plait.live l where l.root_id = r.root))
    order by r.n limit 1);
end $$;

CREATE FUNCTION plait._job_nodes(p_job uuid) RETURNS TABLE(node text, job_id uuid, definition text, status text, attempt integer, late boolean, result text, error text, finished_at timestamp with time zone, rule text, decided_at timestamp with time zone, total integer, needed integer)
    LANGUAGE sql STABLE
    SET enable_seqscan TO 'off'
    AS $$
  select j.node, j.id, j.definition, coalesce(l.state, a.final)::text, coalesce(l.attempt, a.attempt),
         coalesce(j.fan_out_index = any(f.left_open), false), case when l.job_id is null then a.result::text end,
         coalesce(a.error, case when a.final is not null then a.reason end), case when l.job_id is null then a.finished_at end,
         f.rule, f.decided_at, f.total, f.needed
  from (select f.* from plait.fan_outs f
        where f.id = coalesce((select s.fan_out_id from plait.steps s where s.job_id = p_job and s.name = 'nodes' and s.occurrence = 1),
                              (select o.id from plait.fan_outs o where o.parent_id = p_job and o.on_timeout is not null order by o.id desc limit 1))
          and f.on_timeout is not null) f
  join plait.jobs j on j.root_id = f.root_id and j.fan_out_id = f.id
  left join plait.live l on l.job_id = j.id
  left join lateral (select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
  order by j.node
$$;

CREATE FUNCTION plait._judge(p_fan_out plait.fan_outs, p_now timestamp with time zone, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  v_ended    int := p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled;
  v_lost     int := p_fan_out.failed + p_fan_out.canceled;
  v_total    int := p_fan_out.total;
  v_decision text;
  f          plait.fan_outs;
  r          record;
begin
  if p_fan_out.decided_at is not null then
    return;  -- a late child: it is counted, and changes nothing
  end if;
  if p_fan_out.strategy = 'nursery' then
    -- It is open for as long as its parent does not wait for it: there may be more to come.
    if p_fan_out.id = p_fan_out.parent_id and p_fan_out.waited_for is not null then
      -- A job that has returned waits for all its nurseries: those that an error has left, too, since nobody saw what they came to.
      select sum(o.succeeded + o.failed + o.canceled), sum(o.failed + o.canceled), sum(o.total) into v_ended, v_lost, v_total from plait.fan_outs o
        where o.parent_id = p_fan_out.parent_id and o.strategy = 'nursery' and o.decided_at is null;
    end if;
    if v_ended = v_total and p_fan_out.waited_for is not null then
      v_decision := case when v_lost = 0 then 'succeeded' else 'failed' end;
    elsif v_ended = v_total and p_fan_out.id <> p_fan_out.parent_id then
      select * into f from plait.fan_outs o where o.id = p_fan_out.parent_id and o.waited_for is not null;
      if found then
        r := plait._judge(f, p_now);
        o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
      end if;
    elsif p_fan_out.stop and p_fan_out.failed + p_fan_out.canceled > 0 and not p_fan_out.cancel_due
          and p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled < p_fan_out.total then
      update plait.fan_outs set cancel_due = true where id = p_fan_out.id;
    end if;
  elsif p_fan_out.total - v_lost < p_fan_out.needed or v_lost > 0 and p_fan_out.on_node_failure = 'fail' then
    v_decision := 'failed';
  elsif p_fan_out.succeeded >= p_fan_out.needed and (p_fan_out.early or v_ended = p_fan_out.total)
        -- Nodes that had nothing to do are no reason to go on without those that may have.
        and (p_fan_out.on_timeout is null or v_ended = p_fan_out.total or not plait._all_skipped(p_fan_out)) then
    v_decision := 'succeeded';
  elsif v_ended >= p_fan_out.waited_for then
    perform plait._resume_parent(p_fan_out, p_now);
  end if;
  if v_decision is not null then
    r := plait._decide(p_fan_out, p_now, v_decision);
    o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
  end if;
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
    child_mode text DEFAULT 'concurrent'::text NOT NULL,
    on_child_failure text DEFAULT 'continue'::text NOT NULL,
    allow_nested boolean DEFAULT true NOT NULL,
    cancel_on_parent_failure boolean DEFAULT false NOT NULL,
    schema jsonb,
    description text DEFAULT ''::text NOT NULL,
    on_node text COLLATE pg_catalog."C",
    on_leader boolean DEFAULT false NOT NULL,
    quorum text DEFAULT 'majority'::text NOT NULL,
    quorum_timeout_s double precision DEFAULT 10 NOT NULL,
    on_timeout text DEFAULT 'proceed'::text NOT NULL,
    on_node_failure text DEFAULT 'fail'::text NOT NULL,
    search_keys text[],
    search_from uuid,
    CONSTRAINT definitions_backoff_base_s_check CHECK (((backoff_base_s >= (0)::double precision) AND (backoff_base_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_backoff_factor_check CHECK (((backoff_factor >= (1)::double precision) AND (backoff_factor <= (100)::double precision))),
    CONSTRAINT definitions_backoff_jitter_check CHECK (((backoff_jitter >= (0)::double precision) AND (backoff_jitter <= (1)::double precision))),
    CONSTRAINT definitions_backoff_max_s_check CHECK (((backoff_max_s >= (0)::double precision) AND (backoff_max_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_check CHECK (((rate_count IS NULL) = (rate_period_s IS NULL))),
    CONSTRAINT definitions_check1 CHECK (((key_rate_count IS NULL) = (key_rate_period_s IS NULL))),
    CONSTRAINT definitions_child_mode_check CHECK ((child_mode = ANY (ARRAY['concurrent'::text, 'serial'::text]))),
    CONSTRAINT definitions_description_check CHECK ((length(description) <= 2000)),
    CONSTRAINT definitions_key_max_running_check CHECK ((key_max_running >= 0)),
    CONSTRAINT definitions_key_rate_count_check CHECK ((key_rate_count >= 1)),
    CONSTRAINT definitions_key_rate_period_s_check CHECK (((key_rate_period_s > (0)::double precision) AND (key_rate_period_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_kind_check CHECK ((kind = ANY (ARRAY['function'::text, 'command'::text, 'node'::text, 'connector'::text]))),
    CONSTRAINT definitions_max_attempts_check CHECK (((max_attempts >= 1) AND (max_attempts <= 10000))),
    CONSTRAINT definitions_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT definitions_name_check CHECK (((name COLLATE "default") ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'::text)),
    CONSTRAINT definitions_node CHECK (
CASE
    WHEN (kind = 'node'::text) THEN (((on_node IS NOT NULL) OR on_leader) AND (num_nonnulls(max_running, rate_count, key_max_running, key_rate_count) = 0))
    ELSE ((on_node IS NULL) AND (NOT on_leader))
END),
    CONSTRAINT definitions_on_child_failure_check CHECK ((on_child_failure = ANY (ARRAY['continue'::text, 'stop'::text]))),
    CONSTRAINT definitions_on_node_failure_check CHECK ((on_node_failure = ANY (ARRAY['fail'::text, 'tolerate'::text]))),
    CONSTRAINT definitions_on_timeout_check CHECK ((on_timeout = ANY (ARRAY['proceed'::text, 'fail'::text]))),
    CONSTRAINT definitions_queue_check CHECK ((queue ~ '^[A-Za-z0-9_.:-]{1,100}$'::text)),
    CONSTRAINT definitions_quorum_check CHECK ((quorum ~ '^(majority|all|[1-9][0-9]{0,5})$'::text)),
    CONSTRAINT definitions_quorum_timeout_s_check CHECK (((quorum_timeout_s > (0)::double precision) AND (quorum_timeout_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_rate_count_check CHECK ((rate_count >= 1)),
    CONSTRAINT definitions_rate_period_s_check CHECK (((rate_period_s > (0)::double precision) AND (rate_period_s <= ('3200000000'::numeric)::double precision))),
    CONSTRAINT definitions_schema_check CHECK ((octet_length((schema)::text) <= 65536)),
    CONSTRAINT definitions_search_keys_check CHECK ((((cardinality(search_keys) >= 1) AND (cardinality(search_keys) <= 10)) AND (array_position(search_keys, NULL::text) IS NULL) AND (''::text <> ALL (search_keys)) AND (octet_length((search_keys)::text) <= 1000))),
    CONSTRAINT definitions_timeout_s_check CHECK (((timeout_s > (0)::double precision) AND (timeout_s <= ('3200000000'::numeric)::double precision)))
);

CREATE FUNCTION plait._lane(p_definition text, p_tenant uuid, p_limit_key text, p_lane text DEFAULT ''::text) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE WHEN (p_lane ~~ 'n:%'::text) THEN p_lane WHEN (p_lane ~~ 'suspect:n:%'::text) THEN substr(p_lane, 9) ELSE COALESCE((SELECT CASE WHEN (d.kind = 'node'::text) THEN 'leader'::text WHEN ((_lane.p_limit_key IS NULL) AND ((d.max_running IS NOT NULL) OR (d.rate_count IS NOT NULL))) THEN ('d:'::text || _lane.p_definition) ELSE NULL::text END AS "case" FROM plait.definitions d WHERE (d.name = _lane.p_definition)), ((((('k:'::text || p_definition) || ':'::text) || p_tenant) || ':'::text) || p_limit_key), ''::text) END;

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

CREATE FUNCTION plait._leave_node(p_node text, p_state text) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  perform from plait.nodes where name = p_node for no key update;
  update plait.nodes set state = case
      when exists (select from plait.workers w where w.node = p_node and w.state = 'alive' and not w.draining) then 'active'
      when exists (select from plait.workers w where w.node = p_node and w.state = 'alive') then 'draining'
      else p_state end
    where name = p_node;
end $$;

CREATE FUNCTION plait._led(p_worker integer, p_claimed_at timestamp with time zone, p_hold boolean DEFAULT true) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare v_holder text := (select w.holder from plait.workers w where w.id = p_worker);
begin
  if p_hold then
    perform from plait.leader l where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder for share;
  else
    perform from plait.leader l where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder;
  end if;
  return found;
end $$;

CREATE FUNCTION plait._live_counts(p_tenant uuid) RETURNS TABLE(tenant_id uuid, queue text, state plait.status, jobs bigint, oldest timestamp with time zone, at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  if pg_relation_size('plait.live') > 8388608
     and exists (select from plait.depths d where d.at > v_now - interval '1 minute' and d.at <= v_now + interval '1 minute') then
    return query select d.tenant_id, d.queue::text, d.state, d.jobs, d.oldest, d.at from plait.depths d where p_tenant is null or d.tenant_id = p_tenant;
  else
    return query select l.tenant_id, l.queue::text, l.state, count(*), min(l.run_at), v_now from plait.live l
      where p_tenant is null or l.tenant_id = p_tenant group by 1, 2, 3;
  end if;
end $$;

CREATE FUNCTION plait._look_at(p_marks plait.marks) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    RETURN ((p_marks).seen_at + ('00:00:00.02'::interval * ((1 + (COALESCE(cardinality((p_marks).tenants), 0) / 25)))::double precision));

CREATE FUNCTION plait._make_searchable(p_jobs uuid[], p_definitions text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if exists (select from plait.definitions d where d.search_keys is not null and d.name = any(p_definitions)) then
    insert into plait.search_values (tenant_id, definition, key, value, job_id)
    select j.tenant_id, j.definition, k, left(v, 200), j.id
    from plait.jobs j join plait.definitions d on d.name = j.definition, unnest(d.search_keys) k, plait._payload_value(j.payload, k) v
    where j.id = any(p_jobs) and v is not null
    on conflict do nothing;
  end if;
end $$;

CREATE FUNCTION plait._moment() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    AS $$
declare v_xid xid8 := pg_current_xact_id();
begin
  return plait.now();
end $$;

CREATE FUNCTION plait._next_turn(p_fan_out plait.fan_outs) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_next uuid;
  l      plait.live;
begin
  if not (p_fan_out.stop and p_fan_out.failed + p_fan_out.canceled > 0) then
    select j.id into v_next from plait.jobs j
      where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id
        and j.fan_out_index > coalesce((select t.fan_out_index from plait.jobs t where t.id = p_fan_out.turn), -1)
        and exists (select from plait.live v where v.job_id = j.id and v.wait_on = 'turn')
      order by j.fan_out_index limit 1;
    select * into l from plait.live v where v.job_id = v_next and v.wait_on = 'turn' for update skip locked;
  end if;
  update plait.fan_outs set turn = l.job_id where id = p_fan_out.id;
  if l.job_id is not null then
    perform plait._release(l);
  end if;
end $$;

CREATE FUNCTION plait._not_held(p_worker integer, p_job uuid, p_attempt integer) RETURNS text
    LANGUAGE sql STABLE
    AS $$
  select case when exists (select from plait.attempts a where a.job_id = p_job and a.attempt = p_attempt and a.worker = p_worker
                           and a.status = 'suspended') then 'suspended' else 'stale' end
$$;

CREATE FUNCTION plait._open_nodes(p_now timestamp with time zone, p_job plait.jobs, p_metered boolean, p_attempt integer, p_seq integer, p_always boolean) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
declare
  d        plait.definitions;
  n        plait.definitions;
  v_nodes  text[];
  v_total  int;
  v_needed int;
  v_id     uuid := plait.uuidv7();
begin
  select * into d from plait.definitions where name = p_job.definition;
  select * into n from plait.definitions where name = d.on_node;
  v_nodes := array(select distinct w.node from plait.workers w
                   where w.node is not null and w.state = 'alive' and w.expires_at > p_now and not w.draining
                     and p_job.queue = any(w.queues) and d.on_node = any(w.definitions) order by 1);
  v_total := cardinality(v_nodes);
  v_needed := case d.quorum when 'majority' then v_total / 2 + 1 when 'all' then greatest(1, v_total) else d.quorum::int end;
  if v_total < v_needed then
    return null;
  end if;
  if p_metered then
    perform plait._reserve(p_job.tenant_id, v_total);
  end if;
  insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, timeout_at, timeout_s, depth, total, needed, waited_for,
                              early, streamed, nested, cancel_remaining, cancel_on_parent_failure, strategy, on_timeout, on_node_failure)
  values (v_id, p_job.tenant_id, p_job.id, coalesce(p_job.root_id, p_job.id), p_now, p_now + make_interval(secs => d.quorum_timeout_s),
          d.quorum_timeout_s, coalesce(p_job.depth, 0) + 1, v_total, v_needed, v_total, true, false, true, true, true, 'quorum',
          d.on_timeout, d.on_node_failure);
  with c as (
    insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, source, correlation_id, payload,
                            parent_id, root_id, fan_out_id, fan_out_index, depth, node)
    select plait.uuidv7(), p_job.tenant_id, p_now, p_job.priority, coalesce(n.max_attempts, p_job.max_attempts), d.on_node, p_job.queue,
           'system', p_job.correlation_id, p_job.payload, p_job.id, coalesce(p_job.root_id, p_job.id), v_id, u.n - 1,
           coalesce(p_job.depth, 0) + 1, u.node
    from unnest(v_nodes) with ordinality u(node, n)
    returning *
  )
  insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition, root_id, fan_out_id)
  select c.id, c.tenant_id, p_now, c.priority, c.max_attempts, 'queued', p_metered, c.queue, 'n:' || c.node, c.definition, c.root_id, c.fan_out_id
  from c;
  if p_metered then
    perform plait._reserve(p_job.tenant_id, v_total, true);
  end if;
  perform plait._make_searchable(array(select j.id from plait.jobs j where j.root_id = coalesce(p_job.root_id, p_job.id) and j.fan_out_id = v_id), array[d.on_node]);
  insert into plait.steps (job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, name, kind)
  values (p_job.id, p_job.tenant_id, v_id, p_now, p_seq, 1, p_attempt, 'nodes', 'fan_out');
  perform plait._wake(array[p_job.queue], p_always);
  return v_id;
end $$;

CREATE FUNCTION plait._own_nursery(p_job plait.jobs) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update plait.live set tied = true where job_id = p_job.id and not tied;
  if not exists (select from plait.live where job_id = p_job.id) then
    raise exception 'job % is final: nothing can be spawned for it any more', p_job.id using errcode = 'PL009';
  end if;
  insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, depth, total, needed, early, streamed, nested,
                              cancel_remaining, cancel_on_parent_failure, strategy, serial, stop)
  select p_job.id, p_job.tenant_id, p_job.id, coalesce(p_job.root_id, p_job.id), plait.now(), coalesce(p_job.depth, 0) + 1, 0, 0, false, false,
         coalesce(d.allow_nested, true), false, coalesce(d.cancel_on_parent_failure, false), 'nursery',
         coalesce(d.child_mode = 'serial', false), coalesce(d.on_child_failure = 'stop', false)
  from (select) one left join plait.definitions d on d.name = p_job.definition
  on conflict do nothing;
end $$;

CREATE FUNCTION plait._payload_hash(p_payload text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  return md5(p_payload::jsonb::text);
exception when others then
  return md5(p_payload);
end $$;

CREATE FUNCTION plait._payload_value(p_payload json, p_key text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
begin
  return coalesce(p_payload ->> p_key, case when p_key like '%.%' then p_payload #>> string_to_array(p_key, '.') end);
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

CREATE FUNCTION plait._prune_below(p_root uuid, p_limit integer, p_archive boolean, OUT o_pruned integer, OUT o_archive text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare v_jobs uuid[];
begin
  v_jobs := array(select j.id from plait.jobs j where j.root_id = p_root order by j.fan_out_id desc, j.fan_out_index desc limit p_limit);
  o_archive := plait._forget(v_jobs, p_archive);
  o_pruned := cardinality(v_jobs);
end $$;

CREATE FUNCTION plait._release(p_live plait.live) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_now timestamptz := plait._moment();
  v_due timestamptz := case when p_live.attempt = 0 then (select j.scheduled_for from plait.jobs j where j.id = p_live.job_id) end;
begin
  if v_due > v_now then
    update plait.live set wait_on = 'sleep', wake_at = v_due where job_id = p_live.job_id;
    return;
  end if;
  update plait.live set state = 'queued', run_at = v_now, wait_on = null, wake_at = null where job_id = p_live.job_id;
  perform plait._wake(array[p_live.queue]);
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

CREATE FUNCTION plait._reopen(p_job plait.jobs, p_now timestamp with time zone, p_run_at timestamp with time zone, p_max_attempts integer, p_drop_steps boolean) RETURNS plait.status
    LANGUAGE plpgsql
    AS $$
declare
  v_attempt int;
  v_final   plait.status;
  v_turn    boolean := exists (select from plait.fan_outs f where f.id = p_job.fan_out_id and f.serial);
  v_state   plait.status;
  v_await   uuid[];   -- jobs that it depends on, and that are live again
  v_after   uuid;
  v_metered boolean;
  s         plait.steps;
begin
  select attempt, final into v_attempt, v_final from plait.attempts where job_id = p_job.id order by attempt desc limit 1;
  if v_final is null or v_final = 'succeeded' or exists (select from plait.live where job_id = p_job.id) then
    raise exception 'a % job cannot be retried',
      coalesce((select state from plait.live where job_id = p_job.id), v_final, 'queued') using errcode = 'PL009';
  end if;
  -- What children it had keeps its place, and its failures are the tree's to mend.
  if exists (select from plait.fan_outs f where f.parent_id = p_job.id and f.strategy = 'nursery' and f.failed + f.canceled > 0
             and (f.id = p_job.id or not p_drop_steps and (f.decided_at is null or f.id = plait._failed_last(p_job.id)))) then
    raise exception 'children of job % did not succeed: retry the whole tree', p_job.id using errcode = 'PL009',
      detail = 'its root is job ' || coalesce(p_job.root_id, p_job.id);
  end if;
  if p_drop_steps and plait._has_open(p_job.id) then
    raise exception 'children of job % are not final: cancel the tree first, or keep the steps', p_job.id using errcode = 'PL009';
  end if;
  v_await := array(select l.job_id from plait.live l where l.job_id = any(p_job.after) order by l.job_id for no key update);
  if cardinality(v_await) > 0 then
    -- What it waits for runs again; what has failed for good is the operator's to overrule.
    update plait.fan_outs set succeeded = total - cardinality(v_await), failed = 0, canceled = 0, decided_at = null, decision = null,
      decided_ended = null, left_open = null, waited_for = total where parent_id = p_job.id and strategy = 'after' returning id into v_after;
    insert into plait.dependencies (on_id, fan_out_id, tenant_id) select a, v_after, p_job.tenant_id from unnest(v_await) a;
    update plait.live set tied = true where job_id = any(v_await) and not tied;
  end if;
  v_state := case when v_turn or v_after is not null then 'waiting' when p_run_at > p_now then 'scheduled' else 'queued' end;
  update plait.fan_outs set decided_at = null, decision = null, decided_ended = null, waited_for = null, cancel_due = false,
    parent_final = null where id = p_job.id;
  update plait.fan_outs set cancel_due = false where parent_id = p_job.id and strategy = 'nursery' and cancel_due;
  v_metered := exists (select from plait.tenants where id = p_job.tenant_id and max_queued is not null);
  if v_metered then
    perform plait._reserve(p_job.tenant_id, 1);
  end if;
  if p_job.dedupe_key is not null then
    insert into plait.dedupe (tenant_id, key, job_id) values (p_job.tenant_id, p_job.dedupe_key, p_job.id) on conflict do nothing;
    if not found then
      raise exception 'another job holds the dedupe key %', quote_literal(p_job.dedupe_key) using errcode = 'PL013';
    end if;
  end if;
  insert into plait.live (job_id, tenant_id, run_at, attempt, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key,
                          limit_key, root_id, fan_out_id, wait_on, tied)
  values (p_job.id, p_job.tenant_id, case when v_state = 'scheduled' then p_run_at else plait._moment() end, v_attempt + 1, p_job.priority,
          coalesce(p_max_attempts, p_job.max_attempts), v_state, v_metered, p_job.queue,
          plait._lane(p_job.definition, p_job.tenant_id, p_job.limit_key, coalesce('n:' || p_job.node, '')), p_job.definition, p_job.dedupe_key, p_job.limit_key,
          p_job.root_id, p_job.fan_out_id, case when v_turn then 'turn' else 'fan_out ' || v_after end,
          exists (select from plait.fan_outs f where f.id = p_job.id) or exists (select from plait.dependencies d where d.on_id = p_job.id)
            or exists (select from plait.definitions d where d.name = p_job.definition and d.kind = 'node'));
  if v_metered then
    perform plait._reserve(p_job.tenant_id, 1, true);
  end if;
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (p_job.id, p_job.tenant_id, p_now, v_attempt + 1, 'released', 'retried');

  if p_drop_steps then
    delete from plait.steps where job_id = p_job.id;
    delete from plait.follow_ups where job_id = p_job.id;  -- it will ask for them again
    -- Nobody will read what these come to.
    update plait.fan_outs set decided_at = p_now, decision = 'failed', decided_ended = total
      where parent_id = p_job.id and strategy = 'nursery' and decided_at is null and id <> p_job.id;
    update plait.fan_outs set cancel_due = true
      where parent_id = p_job.id and not cancel_due and succeeded + failed + canceled < total and strategy not in ('nursery', 'after');
  else
    select * into s from plait.steps where job_id = p_job.id order by seq desc limit 1;
    if s.error is not null or exists (select from plait.fan_outs f where f.id = s.fan_out_id and f.decision <> 'succeeded') then
      delete from plait.steps where job_id = p_job.id and seq = s.seq;
    end if;
  end if;
  if v_state = 'queued' then
    perform plait._wake(array[p_job.queue], true);
  end if;
  return v_state;
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

CREATE FUNCTION plait._resume_parent(p_fan_out plait.fan_outs, p_now timestamp with time zone, OUT o_resumed boolean, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  v_on text := 'fan_out ' || p_fan_out.id;
  l    plait.live;
  a    plait.attempts;
  n    record;
begin
  select * into l from plait.live v
    where v.job_id = p_fan_out.parent_id and v.state = 'waiting' and v.wait_on = v_on for update skip locked;
  o_resumed := found;
  if found then
    if p_fan_out.id = p_fan_out.parent_id then
      select * into a from plait.attempts t where t.job_id = l.job_id and t.attempt = l.attempt;  -- how its handler ended
      o_final := coalesce(p_fan_out.parent_final, case p_fan_out.decision when 'succeeded' then 'succeeded' else 'failed' end::plait.status);
      perform plait._end(
        l, p_now, case o_final when 'dead_letter' then 'failed' else o_final::text end::plait.ending, o_final,
        case when p_fan_out.parent_final is not null then a.reason when o_final = 'failed' then 'children_failed' end,
        case when p_fan_out.parent_final is not null then a.error when o_final = 'failed' then plait._failures(p_fan_out) end, a.result);
    elsif p_fan_out.strategy = 'after' and p_fan_out.decision = 'failed' then
      o_final := 'canceled';
      perform plait._end(l, p_now, 'canceled', o_final, 'dependency_failed', 'a job that it depended on did not succeed');
    elsif p_fan_out.on_timeout is not null then
      n := plait._end_of_nodes(p_fan_out, l.definition);
      o_final := n.o_final;
      if o_final is null then
        perform plait._release(l);
      else
        perform plait._end(l, p_now, o_final::text::plait.ending, o_final, n.o_reason, n.o_error, n.o_result);
      end if;
    else
      perform plait._release(l);
    end if;
    if o_final is not null then
      o_job := l.job_id; o_fan_out := l.fan_out_id; o_tied := l.tied;
    end if;
  elsif exists (select from plait.live v where v.job_id = p_fan_out.parent_id and v.wait_on = v_on) then
    return;  -- somebody holds its row: rescue looks again
  end if;
  update plait.fan_outs set waited_for = null where id = p_fan_out.id;
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
    if d.max_running is not null and p_spend = 0 then
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
    if d.key_max_running is not null and p_spend = 0 then
      v_room := least(v_room, d.key_max_running - (select count(*) from plait.live l
        where l.definition = p_definition and l.tenant_id = p_tenant and l.limit_key = p_limit_key and l.state = 'running' and l.lane <> ''));
    end if;
    if d.key_rate_count is not null then
      v_room := least(v_room, plait._tokens(v_key, d.key_rate_count, d.key_rate_period_s, p_now, p_spend));
    end if;
  end if;
  return greatest(0, v_room);
end $$;

CREATE FUNCTION plait._serial_deadlocks() RETURNS TABLE(waits uuid, queue text, has uuid)
    LANGUAGE sql
    AS $$
  with held as materialized (
    select q.name, plait._holder(q.name) as root from plait.queues q where q.serial
  ), w as (
    select distinct a.root as waits, b.name as queue, b.root as has from held a join held b on b.root <> a.root
    where exists (select from plait.live l where l.root_id = a.root and l.state = 'queued' and l.queue = b.name)
       or exists (select from plait.live l where l.job_id = a.root and l.state = 'queued' and l.queue = b.name)
  )
  select w.waits, w.queue, w.has from w where exists (select from w o where o.waits = w.has and o.has = w.waits)
$$;

CREATE FUNCTION plait._serves(p_worker integer, p_lane text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare v_lane text := case when p_lane like 'suspect:%' then substr(p_lane, 9) else p_lane end;
begin
  if v_lane like 'n:%' then
    return exists (select from plait.workers w where w.id = p_worker and w.node = substr(v_lane, 3));
  elsif v_lane = 'leader' then
    return exists (select from plait.workers w join plait.leader l on l.holder = w.holder
                   where w.id = p_worker and l.name = 'main' and l.expires_at > plait.now());
  end if;
  return true;
end $$;

CREATE FUNCTION plait._set_trigger(p_tenant uuid, p_label text, p_settings json, p_origin text) RETURNS uuid
    LANGUAGE plpgsql
    AS $_$
declare
  v_now  timestamptz := plait.now();
  v_bad  text;
  v_new  boolean;
  o      plait.triggers;
  r      plait.triggers;
begin
  perform plait._require_read_committed();
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('definition', 'event_name', 'cron', 'every_s', 'time_zone', 'payload', 'queue', 'priority', 'max_attempts', 'timeout_s',
                    'correlation_id', 'dedupe_key', 'limit_key', 'dedupe_window_s', 'catch_up', 'catch_up_window_s', 'overlap', 'jitter_s',
                    'enabled', 'created_by');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  select * into o from plait.triggers where tenant_id = p_tenant and label = p_label and deleted_at is null for no key update;
  if not found then
    perform pg_advisory_xact_lock(hashtextextended('plait.triggers ' || p_tenant, 0));  -- they are counted, and two may make the same one
    select * into o from plait.triggers where tenant_id = p_tenant and label = p_label and deleted_at is null for no key update;
  end if;
  v_new := not found;
  if v_new and p_origin <> 'code' and (select max_triggers from plait.tenants where id = p_tenant) <=
       (select count(*) from plait.triggers where tenant_id = p_tenant and deleted_at is null and origin <> 'code') then
    raise exception 'this tenant may have % triggers, and has them', (select max_triggers from plait.tenants where id = p_tenant)
      using errcode = 'PL005';
  end if;
  if not v_new and o.origin = 'code' and p_origin <> 'code'
     and exists (select from json_object_keys(p_settings) k where k <> 'enabled') then
    raise exception 'trigger % is in code: change it there; here it can be paused', quote_literal(p_label) using errcode = 'PL009';
  end if;
  if v_new then
    r.id := plait.uuidv7();
    r.tenant_id := p_tenant; r.label := p_label; r.created_at := v_now; r.updated_at := v_now; r.anchor_at := v_now; r.cursor_at := v_now;
    r.fired := 0; r.missed := 0; r.skipped := 0; r.revision := 1; r.enabled := true; r.payload := '{}';
    r.jitter_s := 0; r.dedupe_window_s := 300; r.catch_up := 'one'; r.overlap := 'allow'; r.created_by := session_user;
    r.origin := p_origin;
  else
    r := o;
  end if;
  r := json_populate_record(r, p_settings);
  r.origin := case when p_origin = 'code' then 'code' else r.origin end;
  r.kind := case when r.event_name is not null then 'event' else 'schedule' end;
  r.catch_up_window_s := case when r.catch_up = 'window' then r.catch_up_window_s end;
  if r.time_zone is not null and r.time_zone is distinct from o.time_zone and not exists (
       select from pg_timezone_names where name = r.time_zone and name !~ '^(posix|right)/|^(posixrules|localtime|Factory)$') then  -- clock: a name
    raise exception 'there is no time zone %', quote_literal(r.time_zone) using errcode = 'PL012';
  end if;
  if r.enabled and r.definition is distinct from o.definition
     and exists (select from plait.definitions d where d.name = r.definition and not d.active) then
    raise exception 'definition % is inactive: it takes no new triggers', quote_literal(r.definition) using errcode = 'PL007';
  end if;
  if v_new then
    insert into plait.triggers select r.*;
    return r.id;
  end if;
  if row_to_json(r)::text = row_to_json(o)::text then
    return r.id;
  end if;
  if (r.cron, r.every_s, r.time_zone, r.event_name) is distinct from (o.cron, o.every_s, o.time_zone, o.event_name) then
    r.anchor_at := v_now; r.cursor_at := v_now; r.next_at := null; r.error := null;
  elsif r.enabled and not o.enabled then
    r.cursor_at := greatest(o.cursor_at, v_now); r.next_at := null; r.error := null;
  end if;
  update plait.triggers set
    updated_at = v_now, revision = o.revision + 1, anchor_at = r.anchor_at, cursor_at = r.cursor_at, next_at = r.next_at, error = r.error,
    every_s = r.every_s, catch_up_window_s = r.catch_up_window_s, jitter_s = r.jitter_s, timeout_s = r.timeout_s,
    dedupe_window_s = r.dedupe_window_s, priority = r.priority, max_attempts = r.max_attempts, enabled = r.enabled, kind = r.kind,
    origin = r.origin, catch_up = r.catch_up, overlap = r.overlap, definition = r.definition, event_name = r.event_name, cron = r.cron,
    time_zone = r.time_zone, queue = r.queue, correlation_id = r.correlation_id, dedupe_key = r.dedupe_key, limit_key = r.limit_key,
    created_by = r.created_by, payload = r.payload
    where id = r.id;
  return r.id;
exception when check_violation then
  get stacked diagnostics v_bad = constraint_name;
  raise exception 'an invalid trigger: %', case v_bad
    when 'triggers_label_check' then 'a label is 1 to 200 printable characters'
    when 'triggers_definition_check' then 'a definition''s name is 1 to 200 printable characters'
    when 'triggers_event_name_check' then 'an event''s name is 1 to 200 letters, digits and _ . : / -'
    when 'triggers_cron_check' then 'cron has five fields, minute hour day month weekday'
    when 'triggers_every_s_check' then 'every is a second to ten years'
    when 'triggers_jitter_s_check' then 'jitter is at most a day'
    when 'triggers_dedupe_window_s_check' then 'a dedupe window is at most thirty days'
    when 'triggers_queue_check' then 'a queue''s name is 1 to 100 letters, digits and _ . : -'
    when 'triggers_catch_up_check' then 'catch_up is none, one, all or window'
    when 'triggers_overlap_check' then 'overlap is allow, skip or queue'
    when 'triggers_payload_check' then 'a payload is a JSON object of at most 64 KiB'
    when 'triggers_window' then 'catch_up window needs catch_up_window_s'
    when 'triggers_kind' then 'it fires for an event, or at times: cron or every; overlap and a time zone are a schedule''s'
    else sqlerrm end using errcode = 'PL012';
when integrity_constraint_violation or data_exception then
  raise exception 'an invalid trigger: %', sqlerrm using errcode = 'PL012';
end $_$;

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
  v_done      record;
  v_ended     uuid[];              -- children of fan-outs that are final now, and whatever has ended without success
  v_fan_outs  uuid[];
  v_finals    plait.status[];
  v_returned  uuid[];              -- their handlers have ended, and they wait for their children
  v_outcomes  plait.status[];      -- what those will be, where they failed by themselves
begin
  if p_outcomes is null then
    if p_attempts[1] <> any(p_attempts) then
      p_outcomes := array_fill('succeeded'::text, array[cardinality(p_jobs)]);
    else
      v_done := plait._settle_succeeded(p_worker, p_now, p_attempts[1], p_jobs, p_jobs, p_attempts, p_results, p_ran_ms);
      v_settled := v_done.o_n;
      v_ended := v_done.o_children;
      v_fan_outs := v_done.o_fan_outs;
      v_finals := array(select 'succeeded'::plait.status from unnest(v_ended));
    end if;
  end if;

  for v_attempt in select distinct a from unnest(p_attempts) a where p_outcomes is not null loop
    select array_agg(x.id) filter (where x.outcome = 'succeeded'), array_agg(x.id) filter (where x.outcome <> 'succeeded')
      into v_succeeded, v_others
      from unnest(p_jobs, p_attempts, p_outcomes) x(id, attempt, outcome) where x.attempt = v_attempt;

    if v_succeeded is not null then
      v_done := plait._settle_succeeded(p_worker, p_now, v_attempt, v_succeeded, p_jobs, p_attempts, p_results, p_ran_ms);
      v_settled := v_settled + v_done.o_n;
      if v_done.o_children is not null then
        v_ended := v_ended || v_done.o_children;
        v_fan_outs := v_fan_outs || v_done.o_fan_outs;
        v_finals := v_finals || array_fill('succeeded'::plait.status, array[cardinality(v_done.o_children)]);
      end if;
    end if;

    if v_others is not null then
      with c as materialized (
        select l.job_id, l.tenant_id, l.run_at, l.queue, l.dedupe_key, l.cancel_requested, l.definition, l.limit_key, l.fan_out_id,
               greatest(l.run_at, p_now - make_interval(secs => least(greatest(0, coalesce(x.ran_ms, 3.2e12)), 3.2e12) / 1000)) as started_at,
               case when l.cancel_requested is not null then coalesce(x.error, l.cancel_reason) else x.error end as error,
               coalesce(d.kind = 'node', false) as node, x.traceback, x.reason, x.pid, x.exit_code, x.result,
               case when l.cancel_requested is not null then 'canceled'
                    when x.outcome = 'canceled' then 'released'      -- nobody asked: the worker only gave it back
                    else x.outcome end as outcome,
               plait._final(l.cancel_requested, x.outcome, x.permanent, l.tries, l.max_attempts) as final,
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
          and (l.lane not in ('leader', 'suspect:leader') or plait._led(p_worker, l.run_at))
          and not (l.tied and plait._final(l.cancel_requested, x.outcome, x.permanent, l.tries, l.max_attempts) is not null
                   and plait._has_open(l.job_id))
        order by l.job_id for update of l
      ), del as (
        delete from plait.live l using c where c.final is not null and l.job_id = c.job_id
      ), upd as (
        update plait.live l set
          state = case when c.delay_s > 0 then 'scheduled' else 'queued' end::plait.status,
          run_at = p_now + make_interval(secs => c.delay_s), worker = null, tries = c.tries,
          -- It came back from a worker that lives: no longer a suspect, unless it never had the chance to show it.
          losses = case when c.outcome = 'released' then l.losses else 0 end,
          lane = case when c.outcome = 'released' then l.lane else plait._lane(l.definition, l.tenant_id, l.limit_key, l.lane) end,
          tied = l.tied or c.node  -- it may have been asked for before its kind was known
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
      select count(*), (select array_agg(distinct queue) from c where final is null and delay_s <= 0),
             v_ended || (select array_agg(job_id) from c where final is not null),
             v_fan_outs || (select array_agg(fan_out_id) from c where final is not null),
             v_finals || (select array_agg(final::plait.status) from c where final is not null)
        into v_n, v_queues, v_ended, v_fan_outs, v_finals from a;
      v_settled := v_settled + v_n;
      if v_queues is not null then
        perform plait._wake(v_queues);
      end if;
    end if;
  end loop;

  if v_settled < cardinality(p_jobs) then  -- the others are stale, or something hangs on their end
    v_done := plait._settle_tied(p_worker, p_now, p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
    v_settled := v_settled + v_done.o_n;
    v_ended := v_ended || v_done.o_ended;
    v_fan_outs := v_fan_outs || v_done.o_fan_outs;
    v_finals := v_finals || v_done.o_finals;
    v_returned := v_done.o_returned;
    v_outcomes := v_done.o_outcomes;
  end if;

  if p_details is not null then  -- a program that has succeeded has an exit code, too
    update plait.attempts a set exit_code = d.exit_code
    from unnest(p_jobs, p_attempts, p_outcomes, p_details) x(id, attempt, outcome, detail) cross join lateral plait._detail(x.detail) d
    where x.detail is not null and coalesce(x.outcome, 'succeeded') = 'succeeded'
      and a.job_id = x.id and a.attempt = x.attempt and a.worker = p_worker and a.status = 'succeeded' and a.exit_code is null;
  end if;

  if exists (select from plait.running_state) and exists (select from plait.running_state where job_id = any(p_jobs)) then
    with r as (
      delete from plait.running_state s using unnest(p_jobs, p_attempts) x(id, attempt)
      where s.job_id = x.id and s.attempt = x.attempt
        and exists (select from plait.attempts a where a.job_id = x.id and a.attempt = x.attempt)
      returning s.job_id, s.attempt, s.progress
    )
    update plait.attempts a set progress = r.progress from r where a.job_id = r.job_id and a.attempt = r.attempt;
  end if;

  if v_ended is not null or v_returned is not null then
    perform plait._fan_in(p_now, v_ended, v_fan_outs, v_finals, v_returned, v_outcomes);
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
                                 or a.status = 'released' and x.outcome = 'canceled'
                                 or a.status = 'suspended' and x.outcome = 'succeeded')));
end $$;

CREATE FUNCTION plait._settle_succeeded(p_worker integer, p_now timestamp with time zone, p_attempt integer, p_succeeded uuid[], p_jobs uuid[], p_attempts integer[], p_results text[], p_ran_ms double precision[], OUT o_n integer, OUT o_children uuid[], OUT o_fan_outs uuid[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    AS $$
declare
  v_now_s   float8 := extract(epoch from p_now);
  v_tenants uuid[];
  v_keys    text[];
  v_keyed   uuid[];
begin
  with d as (
    delete from plait.live
    where job_id = any(p_succeeded) and attempt = p_attempt and worker + 0 = p_worker and not tied
    returning job_id, tenant_id, run_at, dedupe_key, fan_out_id
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
         array_agg(dedupe_key) filter (where dedupe_key is not null), array_agg(job_id) filter (where dedupe_key is not null),
         array_agg(job_id) filter (where fan_out_id is not null), array_agg(fan_out_id) filter (where fan_out_id is not null)
    into o_n, v_tenants, v_keys, v_keyed, o_children, o_fan_outs from d;
  if v_keys is not null then
    perform plait._release_keys(v_tenants, v_keys, v_keyed);
  end if;
end $$;

CREATE FUNCTION plait._settle_tied(p_worker integer, p_now timestamp with time zone, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], OUT o_n integer, OUT o_ended uuid[], OUT o_fan_outs uuid[], OUT o_finals plait.status[], OUT o_returned uuid[], OUT o_outcomes plait.status[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_nestloop TO 'on'
    AS $$
declare
  r         record;
  l         plait.live;
  v_started timestamptz;
  v_final   plait.status;
begin
  o_n := 0;
  for r in
    select v as live, x.result::json as result, x.ran_ms, coalesce(x.outcome, 'succeeded') as outcome, d.*
    from unnest(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms) x(id, attempt, outcome, result, detail, ran_ms)
    join plait.live v on v.job_id = x.id and v.attempt = x.attempt
    cross join lateral plait._detail(x.detail) d
    where v.tied and v.worker + 0 = p_worker
    order by v.job_id for update of v
  loop
    l := r.live;
    if l.lane in ('leader', 'suspect:leader') and not plait._led(p_worker, l.run_at) then
      perform plait._hand_back(l, p_now);   -- stale: another leads
      perform plait._wake(array[l.queue]);
      continue;
    end if;
    o_n := o_n + 1;
    v_started := greatest(l.run_at, p_now - make_interval(secs => least(greatest(0, coalesce(r.ran_ms, 3.2e12)), 3.2e12) / 1000));
    v_final := case when r.outcome <> 'succeeded' then plait._final(l.cancel_requested, r.outcome, r.permanent, l.tries, l.max_attempts) end;
    if r.outcome = 'succeeded' and not exists (select from plait.fan_outs f where f.id = l.job_id and f.decided_at is null) then
      perform plait._end(l, p_now, 'succeeded', 'succeeded', null, null, r.result, v_started);
      o_ended := o_ended || l.job_id; o_fan_outs := o_fan_outs || l.fan_out_id; o_finals := o_finals || 'succeeded'::plait.status;
      continue;
    end if;
    if r.outcome = 'succeeded' and l.cancel_requested is not null
       and plait._has_open(l.job_id) then
      v_final := 'canceled';  -- it has returned, but its children shall not go on
    end if;
    perform plait._suspend(l, p_now, 'fan_out ' || l.job_id, null, r.result, v_started);
    if v_final is not null then
      update plait.attempts set status = case when v_final = 'canceled' then 'canceled' else r.outcome end::plait.ending,
        reason = coalesce(r.reason, case v_final when 'dead_letter' then 'attempts_exhausted' when 'failed' then 'permanent'
                                                 when 'canceled' then 'cancel_requested' end),
        error = coalesce(r.error, l.cancel_reason), traceback = r.traceback, pid = r.pid, exit_code = r.exit_code
      where job_id = l.job_id and attempt = l.attempt;
    end if;
    o_returned := o_returned || l.job_id; o_outcomes := o_outcomes || v_final;
  end loop;
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

CREATE FUNCTION plait._some_tenant(p_queue text, p_lane text, p_cursor uuid) RETURNS uuid
    LANGUAGE plpgsql
    AS $$
declare v_tenants uuid[] := plait._tenants(p_queue, p_lane, p_cursor, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 128);
begin
  v_tenants := v_tenants || plait._tenants(p_queue, p_lane, '00000000-0000-0000-0000-000000000000', p_cursor, 128 - cardinality(v_tenants));
  return v_tenants[1 + floor(random() * cardinality(v_tenants))::int];
end $$;

CREATE FUNCTION plait._spawn(p_parent plait.jobs, p_nursery uuid, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], p_in_transaction boolean DEFAULT false) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now      timestamptz;
  f          plait.fan_outs;
  v_payloads json[];
  v_ids      uuid[] := p_ids;
  v_answer   uuid[] := p_ids;
  v_metered  boolean;
  v_stopped  boolean;
  v_free     boolean;
  v_queues   text[];
  v_gone     boolean;
  v_bad      text;
  r          record;
begin
  v_payloads := plait._check_jobs(
    plait.now(), p_ids, null, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, null, p_delays_s,
    p_timeouts_s, p_dedupe_keys, null, null, p_limit_keys, null, 'system');
  p_definitions := plait._each(p_definitions, cardinality(p_ids));
  p_queues := plait._each(p_queues, cardinality(p_ids));
  p_priorities := plait._each(p_priorities, cardinality(p_ids));
  p_max_attempts := plait._each(p_max_attempts, cardinality(p_ids));
  select min(d.name) into v_bad from plait.definitions d where not d.active and d.name = any(p_definitions);
  if v_bad is not null then
    raise exception 'definition % is inactive: it takes no new jobs', quote_literal(v_bad) using errcode = 'PL007';
  end if;
  if exists (select from plait.fan_outs o where o.id = p_parent.fan_out_id and not o.nested) then
    raise exception 'job % may have no children: its parent does not allow it (allow_nested)', p_parent.id using errcode = 'PL009';
  end if;
  if coalesce(p_parent.depth, 0) >= 1000 then
    raise exception 'a tree is at most 1000 deep' using errcode = 'PL001';
  end if;

  if p_in_transaction then  -- an update, not a lock: a settle that waits for it must look again
    update plait.live set tied = true where job_id = p_parent.id;
  else
    perform from plait.live where job_id = p_parent.id for key share;
  end if;
  v_gone := not found;
  select * into f from plait.fan_outs where id = p_nursery and parent_id = p_parent.id for no key update;
  if not found then
    raise exception 'job % has no nursery %', p_parent.id, p_nursery using errcode = 'PL008';
  end if;
  if f.strategy <> 'nursery' then
    raise exception 'job % waits for a fan-out, which takes no more: its children can spawn no siblings', p_parent.id using errcode = 'PL009';
  end if;
  if v_gone or f.decided_at is not null
     or exists (select from plait.fan_outs o where o.id = p_parent.id and o.parent_final is not null) then
    raise exception 'job % is final, or its nursery closed: it takes no more children', p_parent.id using errcode = 'PL009';
  end if;
  v_metered := exists (select from plait.tenants t where t.id = p_parent.tenant_id and t.max_queued is not null);
  if v_metered then
    perform plait._reserve(p_parent.tenant_id, cardinality(p_ids));
  end if;
  if p_dedupe_keys is not null then
    for r in select k.requested, k.existing from plait._hold_keys(plait.now(), p_parent.tenant_id, p_ids, null, p_definitions, p_payloads,
                                                                  p_dedupe_keys, null, null) k loop
      v_ids := array_remove(v_ids, r.requested);
      v_answer := array_replace(v_answer, r.requested, r.existing);
    end loop;
    if cardinality(v_ids) = 0 then
      return v_answer;
    end if;
  end if;

  v_now := plait._moment();
  v_stopped := f.stop and f.failed + f.canceled > 0;
  v_free := not v_stopped and f.turn is null and f.succeeded + f.failed + f.canceled = f.total;
  begin
    with c as (
      insert into plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source,
                              correlation_id, dedupe_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth)
      select i.id, p_parent.tenant_id, v_now, v_now + make_interval(secs => i.delay_s), i.timeout_s, coalesce(i.priority, d.priority, 100),
             coalesce(i.max_attempts, d.max_attempts, 5), i.definition, coalesce(i.queue, d.queue, 'default'), 'system', p_parent.correlation_id,
             i.dedupe_key, i.limit_key, i.payload, p_parent.id, f.root_id, f.id, f.total + row_number() over (order by i.n) - 1, f.depth
      from unnest(p_ids, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts, p_timeouts_s, p_delays_s, p_dedupe_keys, p_limit_keys)
           with ordinality i(id, definition, payload, queue, priority, max_attempts, timeout_s, delay_s, dedupe_key, limit_key, n)
      left join plait.definitions d on d.name = i.definition
      where i.id = any(v_ids)
      returning *
    ), s as (
      select c.*, v_stopped or f.serial and not (v_free and c.fan_out_index = f.total) as waits from c
    ), l as (
      insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key, limit_key,
                              root_id, fan_out_id, wait_on, tied)
      select s.id, s.tenant_id, case when not s.waits and s.scheduled_for > v_now then s.scheduled_for else v_now end, s.priority, s.max_attempts,
             case when s.waits then 'waiting' when s.scheduled_for > v_now then 'scheduled' else 'queued' end::plait.status, v_metered, s.queue,
             plait._lane(s.definition, s.tenant_id, s.limit_key), s.definition, s.dedupe_key, s.limit_key, s.root_id, s.fan_out_id,
             case when s.waits then 'turn' end, exists (select from plait.definitions d where d.name = s.definition and d.kind = 'node')
      from s returning queue, state
    )
    select array_agg(distinct queue) filter (where state = 'queued') into v_queues from l;
  exception when unique_violation then
    raise exception 'a job''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
  end;
  perform plait._make_searchable(v_ids, p_definitions);
  update plait.fan_outs set total = total + cardinality(v_ids), cancel_due = cancel_due or v_stopped,
    turn = case when serial and v_free then v_ids[1] else turn end where id = f.id;
  if v_metered then
    perform plait._reserve(p_parent.tenant_id, cardinality(v_ids), true);
  end if;
  if v_queues is not null then
    perform plait._wake(v_queues, p_in_transaction);
  end if;
  return v_answer;
end $$;

CREATE FUNCTION plait._suspend(p_live plait.live, p_now timestamp with time zone, p_wait_on text, p_wake_at timestamp with time zone, p_result json DEFAULT NULL::json, p_started_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  update plait.live set state = 'waiting', worker = null, run_at = p_now, wait_on = p_wait_on, wake_at = p_wake_at,
    losses = 0, cancel_requested = null, cancel_reason = null, lane = plait._lane(definition, tenant_id, limit_key, lane),  -- it came back from a worker that lives: no suspect
    tied = tied or exists (select from plait.definitions d where d.name = live.definition and d.kind = 'node')  -- it may have been asked for before its kind was known
    where job_id = p_live.job_id;
  insert into plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, reason, progress,
                              result)
  values (p_live.job_id, p_live.tenant_id, p_live.run_at, coalesce(p_started_at, p_live.run_at), p_now, p_live.attempt, p_live.worker, 'suspended', p_wait_on,
          (select progress from plait.running_state r where r.job_id = p_live.job_id and r.attempt = p_live.attempt), p_result);
  delete from plait.running_state where job_id = p_live.job_id;
end $$;

CREATE FUNCTION plait._take(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_limit integer, p_definitions text[], p_marks plait.marks, INOUT p_cursor uuid, p_only uuid DEFAULT NULL::uuid, p_special boolean DEFAULT NULL::boolean, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_priorities smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  v_weights boolean := false;
  v_window  int;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last    constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_start   uuid := coalesce(p_cursor, c_first);
  v_tenants uuid[];
  v_shares  int[];
  v_caps    int[];
  v_n       int;
  v_got     int := 0;
  v_windows int := 0;
  v_taken   int[];
  v_wrapped boolean := false;
  v_unmarked boolean := (p_marks).tenants is null or p_now >= plait._look_at(p_marks);
  v_single  uuid := case when not v_unmarked and (p_marks).tenants[1] = all((p_marks).tenants) then (p_marks).tenants[1] end;
  r         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}'; o_tenants := '{}'; o_priorities := '{}';
  p_cursor := v_start;
  if p_special is null then
    p_special := exists (select from plait.tenants where paused or weight <> 1 or max_running is not null);
  end if;
  if p_special and p_only is null then
    v_weights := exists (select from plait.tenants where weight <> 1);
  end if;
  loop
    v_window := case when v_weights then 128 else least(p_limit - v_got, 128) end;
    if p_only is not null then
      v_tenants := array[p_only];
    elsif v_single is not null then
      v_tenants := array[v_single];
    else
      v_tenants := plait._tenants(p_queue, p_lane, p_cursor, case when v_wrapped then v_start else c_last end, v_window, p_marks, v_unmarked);
      if cardinality(v_tenants) < v_window and not v_wrapped and v_start > c_first then
        v_wrapped := true;
        v_tenants := v_tenants || plait._tenants(p_queue, p_lane, c_first, v_start, v_window - cardinality(v_tenants), p_marks, v_unmarked);
      end if;
    end if;
    v_n := cardinality(v_tenants);
    if v_n = 0 and not v_unmarked then   -- those that have marks are not enough: look for the others after all
      v_unmarked := true;
      v_wrapped := false;
      p_cursor := v_start;
      continue;
    end if;
    exit when v_n = 0;

    v_caps := null;
    v_shares := array_fill(greatest(1, (p_limit - v_got) / v_n), array[v_n]);
    if p_special then
      select array_agg(s.share order by s.n), array_agg(s.cap order by s.n) into v_shares, v_caps
      from plait._shares(v_tenants, p_limit - v_got) s;
    end if;

    v_taken := array_fill(0, array[v_n]);
    for pass in 1..3 loop
      if p_lane = '' and (p_marks).tenants is null then
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs, array_agg(y.attempt + 1) as attempts, array_agg(y.tries) as tries,
               array_agg(y.max_attempts) as max, array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
          into r from (
            select y.* from unnest(v_tenants, v_shares) u(tenant_id, share) cross join lateral (
              select l.ctid, l.job_id, l.attempt, l.tries, l.max_attempts, l.tenant_id, l.priority from plait.live l
              where l.state = 'queued' and l.queue = p_queue and l.lane = '' and l.tenant_id = u.tenant_id
                and l.definition = any(p_definitions)
              order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
            limit p_limit - v_got) y;
      elsif p_lane = '' then
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs, array_agg(y.attempt + 1) as attempts, array_agg(y.tries) as tries,
               array_agg(y.max_attempts) as max, array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
          into r from (
            select y.* from plait._between(p_marks, v_tenants) s cross join lateral (
              select l.ctid, l.job_id, l.attempt, l.tries, l.max_attempts, l.tenant_id, l.priority from plait.live l
              where l.state = 'queued' and l.queue = p_queue and l.lane = '' and l.tenant_id = s.tenant_id
                and (l.priority, l.run_at) >= (s.priority, s.mark) and l.priority < s.upto_priority
                and l.definition = any(p_definitions)
              order by l.priority, l.run_at, l.job_id limit v_shares[s.n] for update skip locked) y
            limit p_limit - v_got) y;
      else
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs, array_agg(y.attempt + 1) as attempts, array_agg(y.tries) as tries,
               array_agg(y.max_attempts) as max, array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
          into r from (
            select y.* from unnest(v_tenants, v_shares) u(tenant_id, share) cross join lateral (
              select l.ctid, l.job_id, l.attempt, l.tries, l.max_attempts, l.tenant_id, l.priority from plait.live l
              where l.state = 'queued' and l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.tenant_id = u.tenant_id
                and l.definition = any(p_definitions)
              order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
            limit p_limit - v_got) y;
      end if;
      if r.rows is not null then
        update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now where ctid = any(r.rows);
        o_jobs := o_jobs || r.jobs; o_attempts := o_attempts || r.attempts; o_tries := o_tries || r.tries; o_max := o_max || r.max;
        o_tenants := o_tenants || r.tenants; o_priorities := o_priorities || r.priorities;
        v_got := cardinality(o_jobs);
      end if;
      exit when v_got >= p_limit or v_n = 1;
      -- Whoever got less than its share has no more; the others divide what is left.
      select array_agg(v_taken[u.n] + u.got order by u.n),
             array_agg(case when u.got < u.share then 0 else greatest(0, least(u.cap - v_taken[u.n] - u.got, u.part)) end order by u.n)
        into v_taken, v_shares
        from (select w.n, w.share, w.cap, w.got, ceil((p_limit - v_got)::float8 / greatest(1, count(*) filter (where w.got >= w.share) over ()))::int as part
              from (select x.n, x.share, x.cap, coalesce(g.got, 0) as got
                    from unnest(v_tenants, v_shares, v_caps) with ordinality x(tenant_id, share, cap, n)
                    left join (select t as tenant_id, count(*)::int as got from unnest(r.tenants) t group by t) g
                      on g.tenant_id = x.tenant_id) w) u;
      exit when (select max(s) from unnest(v_shares) s) = 0;
    end loop;

    p_cursor := v_tenants[v_n];
    if v_single is not null and v_got < p_limit then
      v_single := null;
      v_unmarked := true;
      continue;
    end if;
    v_windows := v_windows + 1;
    exit when p_only is not null or v_got >= p_limit or v_n < v_window and v_unmarked or v_got > 0 and v_windows >= 4;
  end loop;
end $$;

CREATE FUNCTION plait._take_lanes(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
  c_window  constant int := 64;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  v_cursor  uuid := coalesce(p_cursor, c_first);
  v_start   text := coalesce(p_lane_cursor, '');
  v_wrapped boolean := false;
  v_lanes   text[];
  v_hungry  boolean[];
  v_share   int;
  v_head    record;
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
        continue when (v_lanes[i] = 'leader' or v_lanes[i] like 'n:%' or v_lanes[i] like 'suspect:%') and not plait._serves(p_worker, v_lanes[i]);
        if v_lanes[i] like 'suspect%' then
          t := plait._take_suspect(p_worker, p_now, p_queue, v_lanes[i], p_definitions);
        elsif v_lanes[i] = 'leader' or v_lanes[i] like 'n:%' then
          -- Of any definition, and never limited.
          t := plait._take(p_worker, p_now, p_queue, v_lanes[i], v_share, p_definitions, null, plait._some_tenant(p_queue, v_lanes[i], v_cursor));
          v_hungry[i] := cardinality(t.o_jobs) = v_share;
        else
          -- All jobs of a limited lane share their definition, and their key and tenant where they have one.
          select l.tenant_id, l.definition, l.limit_key into v_head from plait.live l
            where l.queue = p_queue and l.lane = v_lanes[i] and l.lane <> '' and l.state = 'queued'
            order by l.tenant_id, l.priority, l.run_at, l.job_id limit 1;
          continue when not found or not v_head.definition = any(p_definitions);
          v_share := least(v_share, plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now));
          continue when v_share <= 0;
          v_first := case when v_head.limit_key is null then v_cursor end;
          if v_head.limit_key is null and v_share < 128 then   -- else the window of _take holds as many tenants as it ever does
            v_first := plait._some_tenant(p_queue, v_lanes[i], v_cursor);
          end if;
          t := plait._take(p_worker, p_now, p_queue, v_lanes[i], v_share, p_definitions, null, v_first);
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

CREATE FUNCTION plait._take_suspect(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare v_head record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  if exists (select from plait.live l where l.state = 'running' and l.worker = p_worker and l.lane like 'suspect%') then
    return;
  end if;
  for v_head in
    select l.job_id, l.tenant_id, l.definition, l.limit_key from plait.live l
    where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.definition = any(p_definitions)
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

CREATE FUNCTION plait._tenants(p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit integer, p_marks plait.marks DEFAULT NULL::plait.marks, p_unmarked boolean DEFAULT true) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$
begin
  if p_lane = '' and (p_marks).tenants is null then
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
  elsif p_lane = '' then
    return (
      with known as materialized (
        select distinct t as tenant_id from unnest((p_marks).tenants) t where t > p_after and t <= p_upto
      ), gap as (
        select e as lower, lead(e, 1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') over (order by e) as upper
        from (select p_after as e union all select k.tenant_id from known k) x where p_unmarked
      )
      select coalesce(array_agg(f.tenant_id), '{}') from (
        select s.tenant_id from plait._between(p_marks, array(select k.tenant_id from known k)) s cross join lateral (
          select from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = s.tenant_id
            and (l.priority, l.run_at) >= (s.priority, s.mark) and l.priority < s.upto_priority
          order by l.priority, l.run_at limit 1) l
        union
        select s.tenant_id from gap cross join lateral (
          select l.tenant_id from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued'
            and l.tenant_id > gap.lower and l.tenant_id < gap.upper and l.tenant_id <= p_upto
          order by l.tenant_id limit least(1, p_limit)) f cross join lateral (
          with recursive t(tenant_id, n) as (
            (select f.tenant_id, 1)
            union all
            (select y.tenant_id, t.n + 1 from t cross join lateral (
               select l.tenant_id from plait.live l
               where l.queue = p_queue and l.lane = '' and l.state = 'queued'
                 and l.tenant_id > t.tenant_id and l.tenant_id < gap.upper and l.tenant_id <= p_upto
               order by l.tenant_id limit 1) y
             where t.n < p_limit))
          select t.tenant_id from t) s
        order by 1 limit p_limit) f);
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

CREATE FUNCTION plait._unsuccessful(p_fan_out plait.fan_outs) RETURNS uuid[]
    LANGUAGE sql STABLE
    AS $$
  select array(
    select c.id from plait.jobs c
    cross join lateral (select a.final from plait.attempts a where a.job_id = c.id order by a.attempt desc limit 1) a
    where c.root_id = p_fan_out.root_id and c.fan_out_id = p_fan_out.id and a.final in ('failed', 'dead_letter', 'canceled')
      and not exists (select from plait.live l where l.job_id = c.id))
$$;

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

CREATE FUNCTION plait._write_definition(r plait.definitions, p_new boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    AS $$
declare
  v_known text[] := (select search_keys from plait.definitions where name = r.name);
  v_last  uuid;
begin
  r.search_keys := nullif(r.search_keys, '{}');
  if r.search_keys is null then
    r.search_from := null;
  elsif not coalesce(r.search_keys <@ v_known, false) then
    -- No job that is there has an id from here on, nor has one that is being enqueued at this very moment.
    select id into v_last from plait.jobs order by id desc limit 1;
    r.search_from := plait._uuid_floor(greatest(
      clock_timestamp() + interval '1 s',   -- clock: of ids
      to_timestamp((('x' || left(replace(v_last::text, '-', ''), 12))::bit(48)::bigint + 1) / 1000.0)));
  end if;
  if p_new then
    insert into plait.definitions (name) values (r.name) on conflict do nothing;   -- of two at once, one makes it
    if not found then
      raise exception 'there is a definition % already', quote_literal(r.name) using errcode = 'PL015';
    end if;
  end if;
  insert into plait.definitions select r.*
  on conflict (name) do update set
    kind = excluded.kind, active = excluded.active, queue = excluded.queue, priority = excluded.priority,
    max_attempts = excluded.max_attempts, timeout_s = excluded.timeout_s, backoff_base_s = excluded.backoff_base_s,
    backoff_factor = excluded.backoff_factor, backoff_max_s = excluded.backoff_max_s, backoff_jitter = excluded.backoff_jitter,
    max_running = excluded.max_running, rate_count = excluded.rate_count, rate_period_s = excluded.rate_period_s,
    key_max_running = excluded.key_max_running, key_rate_count = excluded.key_rate_count,
    key_rate_period_s = excluded.key_rate_period_s, updated_at = excluded.updated_at,
    child_mode = excluded.child_mode, on_child_failure = excluded.on_child_failure, allow_nested = excluded.allow_nested,
    cancel_on_parent_failure = excluded.cancel_on_parent_failure,
    schema = excluded.schema, description = excluded.description,
    on_node = excluded.on_node, on_leader = excluded.on_leader, quorum = excluded.quorum, quorum_timeout_s = excluded.quorum_timeout_s,
    on_timeout = excluded.on_timeout, on_node_failure = excluded.on_node_failure,
    search_keys = excluded.search_keys, search_from = excluded.search_from;
  if r.kind = 'node' then   -- enqueued before anybody knew what it is
    update plait.live set lane = 'leader', tied = true
      where job_id in (select job_id from plait.live where definition = r.name and lane not in ('leader', 'suspect:leader') order by job_id for update);
  end if;
  if r.max_running is not null or r.rate_count is not null then
    update plait.live set lane = 'd:' || r.name
      where job_id in (select job_id from plait.live where definition = r.name and lane = '' order by job_id for update skip locked);
  end if;
end $$;

CREATE FUNCTION plait.admit_requests(p_tenants uuid[], p_origins text[]) RETURNS TABLE(o integer, admitted boolean, wait_s double precision, open_s double precision)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  return query
    with asked as (
      select i.o::int as o, c.tenant_id, c.origin, c.opened_at, c.open_until
      from unnest(p_tenants, p_origins) with ordinality i(tenant_id, origin, o)
      join plait.circuits c on c.tenant_id = i.tenant_id and c.origin = i.origin
    ), due as (
      select c.tenant_id, c.origin from plait.circuits c
      where (c.tenant_id, c.origin) in (select a.tenant_id, a.origin from asked a) and c.open_until <= v_now
      order by 1, 2 for update skip locked
    ), tried as (
      update plait.circuits c set open_until = v_now + interval '30 s', updated_at = v_now from due d
      where c.tenant_id = d.tenant_id and c.origin = d.origin returning c.tenant_id, c.origin
    )
    select a.o, a.open_until is null or t.origin is not null and a.o = min(a.o) over (partition by a.tenant_id, a.origin),
           greatest(1, extract(epoch from a.open_until - v_now))::float8, extract(epoch from v_now - a.opened_at)::float8
    from asked a left join tried t on t.tenant_id = a.tenant_id and t.origin = a.origin;
end $$;

CREATE FUNCTION plait.after(job uuid, definition text, payload json DEFAULT '{}'::json, tenant text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, delay interval DEFAULT NULL::interval, dedupe_key text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_id     uuid := coalesce("after".id, plait.uuidv7());
  v_tenant uuid := plait._tenant(case when "after".tenant is not null then plait.tenant_id("after".tenant) end);
  j        plait.jobs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where jobs.id = "after".job and jobs.tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', "after".job using errcode = 'PL008';
  end if;
  perform plait._ask_after(
    j, array[v_id], array["after".definition], array["after".payload::text], array["after".queue], array["after".priority],
    array["after".max_attempts], array[extract(epoch from "after".timeout)::float8], array[extract(epoch from "after".delay)::float8],
    case when "after".dedupe_key is not null then array["after".dedupe_key] end, array["after".limit_key]);
  return v_id;
end $$;

CREATE FUNCTION plait.after_many(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_max_attempts integer[] DEFAULT NULL::integer[], p_timeouts_s double precision[] DEFAULT NULL::double precision[], p_delays_s double precision[] DEFAULT NULL::double precision[], p_dedupe_keys text[] DEFAULT NULL::text[], p_limit_keys text[] DEFAULT NULL::text[], OUT o_status text, OUT o_ids uuid[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  l plait.live;
  j plait.jobs;
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  o_status := case when l.job_id is null then 'stale' when l.cancel_requested is not null then 'canceled' else 'ready' end;
  if o_status <> 'ready' then
    return;
  end if;
  select array(select json_array_elements_text(s.value -> 'ids')::uuid) into o_ids from plait.steps s
    where s.job_id = p_job and s.name = p_name and s.occurrence = p_occurrence;
  if found then
    return;
  end if;
  select * into j from plait.jobs where id = p_job;
  perform plait._ask_after(j, p_ids, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, p_timeouts_s, p_delays_s,
                           p_dedupe_keys, p_limit_keys);
  o_ids := p_ids;
  insert into plait.steps (job_id, tenant_id, at, seq, occurrence, attempt, overlapping, name, kind, hash, value)
  values (p_job, l.tenant_id, plait.now(), p_seq, p_occurrence, p_attempt, p_overlapping, p_name, 'after', p_hash, json_build_object('ids', o_ids));
end $$;

CREATE FUNCTION plait.after_restore(p_until timestamp with time zone DEFAULT NULL::timestamp with time zone, OUT o_workers integer, OUT o_jobs integer, OUT o_schedules integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now timestamptz := plait._moment();
  v_far constant int := 1000000;
  w     record;
begin
  perform plait._require_read_committed();
  if p_until > v_now then
    raise exception 'schedules can be moved to now at most, not to %', p_until using errcode = 'PL012';
  end if;
  o_workers := 0;
  o_jobs := 0;
  for w in select id, node from plait.workers where state <> 'gone' order by id for update loop
    o_workers := o_workers + 1;
    o_jobs := o_jobs + plait._give_back(w.id, v_now, 'restored', '{}', '{}');
    update plait.workers set asleep = false, running = 0,
      state = case when exists (select from plait.live where worker = w.id and state = 'running') then 'lost' else 'gone' end where id = w.id;
    if w.node is not null then
      perform plait._leave_node(w.node, 'left');
    end if;
  end loop;
  perform setval(pg_get_serial_sequence('plait.workers', 'id'), nextval(pg_get_serial_sequence('plait.workers', 'id')) + v_far);
  update plait.leader set holder = 'restored', term = term + v_far, since = v_now, expires_at = v_now where name = 'main';
  update plait.triggers set cursor_at = coalesce(p_until, v_now), next_at = null, error = null, revision = revision + 1
    where kind = 'schedule' and deleted_at is null and cursor_at < coalesce(p_until, v_now);
  get diagnostics o_schedules = row_count;
  delete from plait.sessions;
  update plait.rolled set seen_at = v_now, seen_xid = pg_current_xact_id();
end $$;

CREATE FUNCTION plait.analytics(p_tenant uuid DEFAULT NULL::uuid, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_to timestamp with time zone DEFAULT NULL::timestamp with time zone, p_scan integer DEFAULT 10000) RETURNS TABLE(definition text, jobs bigint, live bigint, succeeded bigint, failed bigint, dead_letter bigint, canceled bigint, skipped bigint, attempts bigint, wait_p50_s double precision, wait_p95_s double precision, run_p50_s double precision, run_p95_s double precision, complete boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_shift  interval := clock_timestamp() - plait.now();  -- clock: ids are made by the physical one
  v_to     timestamptz := coalesce(p_to, plait.now());
  v_from   timestamptz := coalesce(p_from, v_to - interval '1 day');
  v_scan   int := least(greatest(p_scan, 1), 100000);
begin
  return query
    with seen as materialized (
      select j.id, j.definition, j.created_at from plait.jobs j
      where j.tenant_id = v_tenant and j.id >= plait._uuid_floor(greatest(v_from + v_shift - interval '1 day', 'epoch'))
        and j.id < plait._uuid_floor(greatest(v_to + v_shift + interval '1 day', 'epoch')) and j.created_at >= v_from and j.created_at < v_to
      order by j.id desc limit v_scan
    ), each as (
      select s.definition, s.created_at, l.job_id is not null as is_live, a.final, a.n, a.began, a.ran from seen s
      left join plait.live l on l.job_id = s.id
      left join lateral (
        select count(*) filter (where t.started_at is not null) as n, min(t.started_at) as began,
               sum(extract(epoch from t.finished_at - t.started_at))::float8 as ran, (array_agg(t.final order by t.attempt desc))[1] as final
        from plait.attempts t where t.job_id = s.id) a on true
    )
    select e.definition::text, count(*), count(*) filter (where e.is_live),
           count(*) filter (where not e.is_live and e.final = 'succeeded'), count(*) filter (where not e.is_live and e.final = 'failed'),
           count(*) filter (where not e.is_live and e.final = 'dead_letter'), count(*) filter (where not e.is_live and e.final = 'canceled'),
           count(*) filter (where not e.is_live and e.final = 'skipped'), coalesce(sum(e.n), 0)::bigint,
           percentile_cont(0.5) within group (order by extract(epoch from e.began - e.created_at)::float8),
           percentile_cont(0.95) within group (order by extract(epoch from e.began - e.created_at)::float8),
           percentile_cont(0.5) within group (order by e.ran), percentile_cont(0.95) within group (order by e.ran),
           (select count(*) from seen) < v_scan
    from each e group by e.definition order by 2 desc, 1;
end $$;

CREATE FUNCTION plait.announce(p_limit integer DEFAULT 1000, OUT o_told integer, OUT o_more boolean, OUT o_took_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
  v_now   timestamptz := plait.now();        -- before this transaction gets its number
  v_since timestamptz := (select min(e.subscribed_at) from plait.endpoints e where e.subscribed_at is not null);
  v_safe  timestamptz;
  v_to    timestamptz;
  v_ended boolean;
  r       plait.announced;
begin
  o_told := 0;
  o_more := false;
  o_took_s := 0;
  if v_since is null or exists (select from plait.definitions d where d.name = 'connector.webhook.deliver' and not d.active) then
    return;  -- of an inactive definition nothing new is asked for; what happens meanwhile is told later
  end if;
  perform plait._require_read_committed();
  if not pg_try_advisory_xact_lock(hashtextextended('plait.announce', 0)) then
    return;
  end if;
  insert into plait.announced (closed_to, seen_at, seen_xid) values (v_since, v_now, pg_current_xact_id()) on conflict do nothing;
  select * into r from plait.announced;
  r.closed_to := greatest(r.closed_to, v_since);  -- before that, nobody wanted to know
  if r.seen_xid > pg_current_xact_id() then  -- of another server, from which this database was restored: it would never be reached
    r.seen_at := v_now;
    r.seen_xid := pg_current_xact_id();
  end if;
  v_ended := pg_snapshot_xmin(pg_current_snapshot()) > r.seen_xid;
  v_safe := case when v_ended then greatest(r.closed_to, r.seen_at) else r.closed_to end;
  if v_safe > r.closed_to + interval '1 minute' then  -- nobody led for a while: a minute in each call
    v_safe := r.closed_to + interval '1 minute';
    v_to := v_safe;
    o_more := true;
  else
    v_to := 'infinity';
  end if;
  o_told := plait._announce(r.closed_to, v_to, p_limit);
  if o_told = p_limit then
    o_more := true;
    v_safe := r.closed_to;
  elsif v_ended and v_to = 'infinity' then
    r.seen_at := v_now;
    r.seen_xid := pg_current_xact_id();
  end if;
  update plait.announced set closed_to = v_safe, seen_at = r.seen_at, seen_xid = r.seen_xid;
  delete from plait.announcements where ctid = any(array(
    select n.ctid from plait.announcements n where n.finished_at < v_safe order by n.finished_at limit 10000));
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;

CREATE FUNCTION plait.authenticate(p_hash text, p_session boolean DEFAULT false) RETURNS TABLE(key_id uuid, tenant_id uuid, tenant text, role text, name text, csrf text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now timestamptz := plait.now();
  v_key uuid;
  v_csrf text;
begin
  if p_session then
    select s.key_id, s.csrf into v_key, v_csrf from plait.sessions s where s.hash = p_hash and not s.link and s.role is null and s.expires_at > v_now;
  else
    select k.id into v_key from plait.keys k where k.hash = p_hash;
  end if;
  return query
    select k.id, k.tenant_id, t.slug::text, k.role, k.name, v_csrf from plait.keys k left join plait.tenants t on t.id = k.tenant_id
    where k.id = v_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > v_now);
  if found then
    update plait.keys set last_used_at = v_now where id in (
      select k.id from plait.keys k where k.id = v_key and (k.last_used_at is null or k.last_used_at < v_now - interval '1 minute')
      for no key update skip locked);
  end if;
end $$;

CREATE FUNCTION plait.authenticate_embed(p_hash text) RETURNS TABLE(key_id uuid, tenant_id uuid, tenant text, role text, name text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select k.id, k.tenant_id, t.slug::text, s.role, k.name
  from plait.sessions s join plait.keys k on k.id = s.key_id join plait.tenants t on t.id = k.tenant_id
  where s.hash = p_hash and not s.link and s.role is not null and s.expires_at > plait.now()
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > plait.now())
$$;

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
  perform plait._fan_in(plait.now(), array[p_job], array[v_live.fan_out_id], array['canceled'::plait.status]);
  return 'canceled';
end $$;

CREATE FUNCTION plait.cancel_remaining(p_after uuid DEFAULT NULL::uuid, OUT o_fan_out uuid, OUT o_jobs integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  f       plait.fan_outs;
  v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
begin
  perform plait._require_read_committed();
  select * into f from (
    (select * from plait.fan_outs where cancel_due and id > v_after order by id limit 1)
    union all
    -- Node jobs that are final: nodes that have not begun, or would begin again, need not.
    (select * from plait.fan_outs o
     where o.on_timeout is not null and o.decided_at is not null and o.succeeded + o.failed + o.canceled < o.total and o.id > v_after
       and not exists (select from plait.live l where l.job_id = o.parent_id)
       and exists (select from plait.live l where l.root_id = o.root_id and l.fan_out_id = o.id and l.state <> 'running')
     order by o.id limit 1)) due
    order by id limit 1;
  if found then
    o_fan_out := f.id;
    o_jobs := plait._cancel_remaining(f, plait.now());
  end if;
end $$;

CREATE FUNCTION plait.cancel_tree(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_reason text DEFAULT NULL::text, OUT o_canceled integer, OUT o_asked integer, OUT o_left integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_root   uuid;
  v_jobs   uuid[];
  v_seen   int;
  c        record;
begin
  perform plait._require_read_committed();
  select coalesce(root_id, id) into v_root from plait.jobs where id = p_job and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  o_canceled := 0; o_asked := 0;
  loop
    with recursive below as (
      select f.id from plait.fan_outs f where f.parent_id = p_job
      union all
      select f.id from below b join plait.jobs j on j.root_id = v_root and j.fan_out_id = b.id join plait.fan_outs f on f.parent_id = j.id
    )
    select array_agg(s.job_id) into v_jobs from (
      select l.job_id from plait.live l where l.job_id = p_job and l.cancel_requested is null
      union all
      select l.job_id from below b join plait.live l on l.root_id = v_root and l.fan_out_id = b.id where l.cancel_requested is null
    ) s;
    o_left := coalesce(cardinality(v_jobs), 0);
    exit when o_left = 0;
    c := plait._cancel_rows(plait.now(), v_jobs, 'canceled', p_reason);
    v_seen := coalesce(cardinality(c.o_canceled), 0) + c.o_asked;
    o_canceled := o_canceled + coalesce(cardinality(c.o_canceled), 0);
    o_asked := o_asked + c.o_asked;
    exit when v_seen = 0;
  end loop;
end $$;

CREATE FUNCTION plait.changes(p_tenants uuid[], p_since timestamp with time zone, p_limit integer DEFAULT 2000) RETURNS TABLE(kind text, tenant_id uuid, id uuid, detail text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_jobs uuid[];
  v_new  uuid := plait._uuid_floor(greatest(p_since + (clock_timestamp() - plait.now()) - interval '5 s', 'epoch'));  -- clock: of ids
begin
  v_jobs := array(
    select j.id from plait.jobs j where j.id >= v_new and j.created_at >= p_since and (p_tenants is null or j.tenant_id = any(p_tenants))
      order by j.id desc limit p_limit + 1)
    || array(
    select l.job_id from plait.live l where l.state = 'running' and l.run_at >= p_since and (p_tenants is null or l.tenant_id = any(p_tenants))
      limit p_limit + 1)
    || array(
    select a.job_id from plait.attempts a where a.finished_at >= p_since and (p_tenants is null or a.tenant_id = any(p_tenants))
      limit p_limit + 1)
    || array(
    with recursive heads(queue, tenant_id, priority, n) as (
      (select l.queue, l.tenant_id, l.priority, 1 from plait.live l where l.state = 'queued' and l.lane = ''
       order by l.queue, l.tenant_id, l.priority limit 1)
      union all
      select y.queue, y.tenant_id, y.priority, h.n + 1 from heads h cross join lateral (
        select l.queue, l.tenant_id, l.priority from plait.live l where l.state = 'queued' and l.lane = ''
          and (l.queue, l.tenant_id, l.priority) > (h.queue, h.tenant_id, h.priority)
        order by l.queue, l.tenant_id, l.priority limit 1) y
      where h.n < 500)
    select l.job_id from heads h cross join lateral (
      select l.job_id from plait.live l where l.state = 'queued' and l.lane = '' and l.queue = h.queue and l.tenant_id = h.tenant_id
        and l.priority = h.priority and l.run_at >= p_since limit p_limit + 1) l
    where p_tenants is null or h.tenant_id = any(p_tenants) limit p_limit + 1)
    || array(
    with recursive heads(queue, lane, tenant_id, priority, n) as (
      (select l.queue, l.lane, l.tenant_id, l.priority, 1 from plait.live l where l.state = 'queued' and l.lane <> ''
       order by l.queue, l.lane, l.tenant_id, l.priority limit 1)
      union all
      select y.queue, y.lane, y.tenant_id, y.priority, h.n + 1 from heads h cross join lateral (
        select l.queue, l.lane, l.tenant_id, l.priority from plait.live l where l.state = 'queued' and l.lane <> ''
          and (l.queue, l.lane, l.tenant_id, l.priority) > (h.queue, h.lane, h.tenant_id, h.priority)
        order by l.queue, l.lane, l.tenant_id, l.priority limit 1) y
      where h.n < 500)
    select l.job_id from heads h cross join lateral (
      select l.job_id from plait.live l where l.state = 'queued' and l.lane <> '' and l.queue = h.queue and l.lane = h.lane
        and l.tenant_id = h.tenant_id and l.priority = h.priority and l.run_at >= p_since limit p_limit + 1) l
    where p_tenants is null or h.tenant_id = any(p_tenants) limit p_limit + 1);
  v_jobs := array(select distinct u from unnest(v_jobs) u);
  if cardinality(v_jobs) > p_limit then
    return query select 'more', null::uuid, null::uuid, '{}';
    return;
  end if;
  return query
    select 'job', j.tenant_id, j.id, json_build_object(
      'status', coalesce(l.state, a.final), 'attempt', coalesce(l.attempt, a.attempt), 'definition_key', j.definition, 'queue', j.queue,
      'parent_id', j.parent_id, 'root_id', j.root_id, 'fan_out_id', j.fan_out_id)::text
    from plait.jobs j left join plait.live l on l.job_id = j.id
    left join lateral (select t.final, t.attempt from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
    where j.id = any(v_jobs);
  return query
    select 'fan_out', f.tenant_id, f.id, json_build_object(
      'parent_id', f.parent_id, 'root_id', f.root_id, 'total', f.total, 'succeeded', f.succeeded, 'failed', f.failed,
      'canceled', f.canceled, 'decision', f.decision)::text
    from plait.fan_outs f
    where f.id in (select j.fan_out_id from plait.jobs j where j.id = any(v_jobs) and j.fan_out_id is not null)
       or f.parent_id = any(v_jobs);
  return query
    select 'log', r.tenant_id, r.job_id, json_build_object('attempt', r.attempt, 'progress', case
      when octet_length(r.progress::text) <= 8192 then r.progress
      when json_typeof(r.progress) = 'object' then json_build_object(
        'stdout', right(r.progress ->> 'stdout', 4096), 'stderr', right(r.progress ->> 'stderr', 4096)) end)::text
    from plait.running_state r
    where r.updated_at >= p_since and (p_tenants is null or r.tenant_id = any(p_tenants)) limit p_limit;
end $$;

CREATE FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer DEFAULT 1, p_sleep boolean DEFAULT false) RETURNS TABLE(job_id uuid, attempt integer, tries integer, max_attempts integer, tenant_id uuid, definition text, payload text, timeout_s double precision, correlation_id text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
#variable_conflict use_column
declare
  v_definitions text[];
  v_cursor      jsonb;
  v_next        jsonb;
  v_asleep      boolean;
  v_sleeps      boolean;
  c             record;
begin
  perform plait._require_read_committed();
  select w.definitions, w.cursors -> p_queue, w.asleep into v_definitions, v_cursor, v_asleep
    from plait.workers w where w.id = p_worker and w.state = 'alive' for key share;
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;
  c := plait._claim(p_worker, plait.now(), p_queue, coalesce(p_limit, 1), v_definitions, null, (v_cursor ->> 0)::uuid, v_cursor ->> 1, null);
  -- Remembered for a worker that has no memory of its own between calls: this is what keeps its claims fair over tenants.
  perform from plait.workers where id = p_worker for no key update skip locked;
  v_next := jsonb_build_array(c.p_cursor, c.p_lane_cursor);
  v_sleeps := case cardinality(c.o_jobs) when 0 then v_asleep or p_sleep when p_limit then false else v_asleep end;
  if found and (v_next is distinct from v_cursor or v_sleeps <> v_asleep) then
    update plait.workers set cursors = cursors || jsonb_build_object(p_queue, v_next), asleep = v_sleeps where id = p_worker;
  end if;
  return query
    select x.id, x.attempt, x.tries::int, x.max::int, j.tenant_id, j.definition, j.payload::text, coalesce(j.timeout_s, d.timeout_s), j.correlation_id
    from unnest(c.o_jobs, c.o_attempts, c.o_tries, c.o_max) x(id, attempt, tries, max) join plait.jobs j on j.id = x.id
    left join plait.definitions d on d.name = j.definition
    where j.id = any(c.o_jobs)
    order by j.priority, j.id;
end $$;

CREATE FUNCTION plait.claim_plan() RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_tenants     uuid[] := array['00000000-0000-7000-8000-000000000000'::uuid];
  v_definitions text[] := '{a,b}';
  v_queue       text := 'default';
  r             record;
begin
  for r in explain
    select y.* from unnest(v_tenants, array[10]) u(tenant_id, share) cross join lateral (
      select l.ctid, l.job_id, l.attempt, l.tries, l.max_attempts, l.tenant_id, l.priority from plait.live l
      where l.state = 'queued' and l.queue = v_queue and l.lane = '' and l.tenant_id = u.tenant_id and l.definition = any(v_definitions)
      order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
  loop
    return next r."QUERY PLAN";
  end loop;
end $$;

CREATE FUNCTION plait.claim_waits(p_jobs uuid[]) RETURNS TABLE(queue text, waited_s double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select j.queue::text, greatest(0, extract(epoch from coalesce(l.run_at, a.claimed_at) - coalesce(j.scheduled_for, j.created_at)))::float8
  from plait.jobs j
  left join plait.live l on l.job_id = j.id and l.state = 'running' and l.attempt = 1
  left join plait.attempts a on a.job_id = j.id and a.attempt = 1
  where j.id = any(p_jobs[:1000]) and j.after is null and coalesce(l.run_at, a.claimed_at) is not null
$$;

CREATE FUNCTION plait.close_endpoint(p_endpoint uuid, p_job uuid, p_attempt integer, p_reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid;
  v_now    timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  select tenant_id into v_tenant from plait.live
    where job_id = p_job and attempt = p_attempt and state = 'running' and definition = 'connector.webhook.deliver' for key share;
  if not found then
    return false;
  end if;
  update plait.endpoints set enabled = false, subscribed_at = null, disabled_at = v_now, disabled_reason = left(p_reason, 500), updated_at = v_now
    where id = p_endpoint and tenant_id = v_tenant and enabled;
  return true;
end $$;

CREATE FUNCTION plait.close_session(p_hash text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  delete from plait.sessions where hash = p_hash
$$;

CREATE FUNCTION plait.count_live(OUT o_jobs bigint, OUT o_took_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now   timestamptz := plait.now();
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
begin
  o_jobs := 0;
  if pg_try_advisory_xact_lock(hashtextextended('plait.count_live', 0)) then
    delete from plait.depths;
    insert into plait.depths (tenant_id, queue, state, at, jobs, oldest)
    select l.tenant_id, l.queue, l.state, v_now, count(*), min(l.run_at) from plait.live l group by 1, 2, 3;
    select coalesce(sum(jobs), 0) into o_jobs from plait.depths;
  end if;
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;

CREATE FUNCTION plait.create_key(p_hash text, p_hint text, p_name text, p_role text, p_tenant uuid, p_expires_at timestamp with time zone, p_created_by text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_id uuid := plait.uuidv7();
begin
  if p_tenant is not null and not exists (select from plait.tenants where id = p_tenant) then
    raise exception 'there is no tenant %', p_tenant using errcode = 'PL003';
  end if;
  if p_expires_at <= plait.now() then
    raise exception 'a key expires later than now' using errcode = 'PL012';
  end if;
  delete from plait.keys where id in (
    select k.id from plait.keys k where k.created_by = 'oidc' and k.expires_at < plait.now() - interval '30 days' limit 100 for update skip locked);
  insert into plait.keys (id, tenant_id, hash, hint, name, role, created_by, created_at, expires_at)
  values (v_id, p_tenant, p_hash, p_hint, p_name, p_role, p_created_by, plait.now(), p_expires_at);
  return v_id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'an invalid key: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, p_marks text[], p_short boolean DEFAULT false, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_marks text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[], OUT o_alone boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_seen   timestamptz := case when pg_current_xact_id_if_assigned() is null then plait.now() end;  -- for the marks
  v_now    timestamptz := case when cardinality(p_jobs) > 0 then plait._moment() else plait.now() end;
  v_marks  plait.marks;
  v_worker record;
  v_asked  int := 0;
  c        record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform plait._require_read_committed();
  end if;
  if cardinality(p_jobs) > 0 then
    perform plait._check_outcomes(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
    o_stale := plait._settle(p_worker, v_now, p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
  end if;

  select w.definitions, w.asleep, w.queues, exists (select from plait.live l where l.worker = p_worker and l.cancel_requested is not null) as cancels
    into v_worker from plait.workers w where w.id = p_worker and w.state = 'alive' for key share;
  o_alive := found;
  if not o_alive then
    return;
  end if;

  o_cursors := p_cursors;
  o_lane_cursors := p_lane_cursors;
  o_marks := p_marks;
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  for i in 1..coalesce(cardinality(p_queues), 0) loop
    continue when coalesce(p_limits[i], 0) <= 0;
    v_asked := v_asked + p_limits[i];
    v_marks := p_marks[i]::plait.marks;
    c := plait._claim(p_worker, v_now, p_queues[i], p_limits[i], v_worker.definitions, v_seen, p_cursors[i], p_lane_cursors[i],
                      v_marks);
    if (c.p_marks).seen_at is distinct from v_marks.seen_at then
      o_marks[i] := (c.p_marks)::text;
    end if;
    o_cursors[i] := c.p_cursor;
    o_lane_cursors[i] := c.p_lane_cursor;
    if cardinality(c.o_jobs) > 0 then
      o_jobs := o_jobs || c.o_jobs; o_attempts := o_attempts || c.o_attempts; o_tries := o_tries || c.o_tries; o_max := o_max || c.o_max;
    end if;
  end loop;

  if cardinality(o_jobs) > 0 then
    if o_attempts[1] = all(o_attempts) and o_tries[1] = all(o_tries) and o_max[1] = all(o_max) then  -- then any order is theirs
      select f.* into o_jobs, o_tenants, o_definitions, o_queues, o_payloads, o_timeouts, o_correlations from plait._fetch_alike(o_jobs) f;
      if p_short then
        o_attempts := o_attempts[1:1]; o_tries := o_tries[1:1]; o_max := o_max[1:1];
      end if;
    else
      select f.* into o_jobs, o_attempts, o_tries, o_max, o_tenants, o_definitions, o_queues, o_payloads, o_timeouts, o_correlations
        from plait._fetch(o_jobs, o_attempts, o_tries, o_max) f;
    end if;
    if p_short and o_tenants[1] = all(o_tenants) then
      o_tenants := o_tenants[1:1];
    end if;
    if p_short and o_definitions[1] = all(o_definitions) then
      o_definitions := o_definitions[1:1];
    end if;
  end if;
  if cardinality(o_jobs) >= 100 then
    o_alone := not exists (select from plait.workers w where w.state = 'alive' and w.id <> p_worker and w.queues && v_worker.queues);
  end if;

  -- Under a trickle the flag stays, so that a worker does not write its row for every job; only a full batch clears it.
  if v_worker.asleep and v_asked > 0 and cardinality(o_jobs) = v_asked then
    update plait.workers set asleep = false where id = p_worker;
  elsif p_sleep and not v_worker.asleep and cardinality(o_jobs) = 0 then
    update plait.workers set asleep = true where id = p_worker;
  end if;

  if v_worker.cancels then
    select array_agg(l.job_id), array_agg(l.attempt) into o_cancel_jobs, o_cancel_attempts
      from plait.live l where l.worker = p_worker and l.cancel_requested is not null;
  end if;
end $$;

CREATE FUNCTION plait.declare_triggers(p_triggers json, p_definitions text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_kept uuid[] := '{}';
  v_gone int;
  r      record;
begin
  perform plait._require_read_committed();
  for r in
    select case when x.tenant is null then plait._tenant(null) else plait.tenant_id(x.tenant) end as tenant_id, x.label, x.settings
    from json_to_recordset(p_triggers) x(tenant text, label text, settings json) order by 1, 2
  loop
    v_kept := v_kept || plait._set_trigger(r.tenant_id, r.label, r.settings, 'code');
  end loop;
  update plait.triggers set deleted_at = plait.now(), revision = revision + 1
    where id in (select id from plait.triggers where origin = 'code' and deleted_at is null and definition = any(p_definitions)
                   and not id = any(v_kept) order by id for no key update);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

CREATE FUNCTION plait.define(p_definitions json, p_new boolean DEFAULT false) RETURNS integer
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
                    'backoff_jitter', 'max_running', 'rate_count', 'rate_period_s', 'key_max_running', 'key_rate_count', 'key_rate_period_s',
                    'child_mode', 'on_child_failure', 'allow_nested', 'cancel_on_parent_failure', 'schema', 'description',
                    'on_node', 'on_leader', 'quorum', 'quorum_timeout_s', 'on_timeout', 'on_node_failure', 'search_keys');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  for r in
    select name, coalesce(kind, 'function'), true, coalesce(queue, 'default'), coalesce(priority, 100), coalesce(max_attempts, 5),
           coalesce(timeout_s, 3600), coalesce(backoff_base_s, 1), coalesce(backoff_factor, 2), coalesce(backoff_max_s, 3600),
           coalesce(backoff_jitter, 0.2), max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s,
           plait.now(), coalesce(child_mode, 'concurrent'), coalesce(on_child_failure, 'continue'), coalesce(allow_nested, true),
           coalesce(cancel_on_parent_failure, false),
           schema, coalesce(description, ''),
           on_node, coalesce(on_leader, false), coalesce(quorum, 'majority'), coalesce(quorum_timeout_s, 10), coalesce(on_timeout, 'proceed'),
           coalesce(on_node_failure, 'fail'), search_keys, null
    from json_populate_recordset(null::plait.definitions, p_definitions) order by name
  loop
    select * into v_old from plait.definitions where name = r.name;
    if found and p_new then
      raise exception 'there is a definition % already', quote_literal(r.name) using errcode = 'PL015';
    elsif found then
      r.active := v_old.active;
      r.schema := coalesce(r.schema, v_old.schema);
      r.description := coalesce(nullif(r.description, ''), v_old.description);
      r.search_keys := nullif(coalesce(r.search_keys, v_old.search_keys), '{}');
      r.search_from := v_old.search_from;
      v_old.updated_at := r.updated_at;
      continue when v_old = r;
    end if;
    perform plait._write_definition(r, p_new);
    v_changed := v_changed + 1;
  end loop;
  return v_changed;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid definition: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.delete_endpoint(p_endpoint uuid, p_tenant uuid DEFAULT NULL::uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  delete from plait.endpoints where id = p_endpoint and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no endpoint %', p_endpoint using errcode = 'PL008';
  end if;
end $$;

CREATE FUNCTION plait.delete_trigger(p_trigger uuid, p_tenant uuid DEFAULT NULL::uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  t        plait.triggers;
begin
  select * into t from plait.triggers where id = p_trigger and tenant_id = v_tenant and deleted_at is null for no key update;
  if not found then
    raise exception 'there is no trigger %', p_trigger using errcode = 'PL008';
  end if;
  if t.origin = 'code' then
    raise exception 'trigger % is in code: remove it there, or pause it', quote_literal(t.label) using errcode = 'PL009';
  end if;
  update plait.triggers set deleted_at = plait.now(), revision = revision + 1 where id = t.id;
  update plait.fires set outcome = 'skipped', held = null where trigger_id = t.id and outcome = 'held';
end $$;

CREATE FUNCTION plait.diagnose() RETURNS TABLE(level text, code text, finding text, advice text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select f.level, f.code, f.finding, f.advice from plait.findings() f
$$;

CREATE FUNCTION plait.dispatch(p_events json) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now   timestamptz := plait._moment();
  v_done  int := 0;
  v_jobs  int;
  v_error text;
  v_held  int;
  v_made  record;
  e       record;
  f       record;
begin
  perform plait._require_read_committed();
  for e in select * from json_to_recordset(p_events) x(event uuid, fires json) order by event loop
    perform from plait.events v where v.id = e.event and v.dispatched_at is null for update skip locked;
    continue when not found;
    select count(*) into v_held from (
      select t.id from json_to_recordset(e.fires) x(trigger uuid, revision int)
      join plait.triggers t on t.id = x.trigger and t.revision = x.revision and t.enabled and t.deleted_at is null
      for no key update of t skip locked) h;
    continue when v_held <> json_array_length(e.fires);
    v_jobs := 0;
    v_error := null;
    for f in
      select x.*, t as trigger_row, t.label from json_to_recordset(e.fires)
        x(trigger uuid, payload json, dedupe_key text, correlation_id text, limit_key text, error text)
      join plait.triggers t on t.id = x.trigger order by t.id
    loop
      select * into v_made from plait._fire(f.trigger_row, v_now, null, e.event, f.payload, f.dedupe_key, f.correlation_id, f.limit_key, f.error);
      v_jobs := v_jobs + (v_made.o_outcome = 'enqueued')::int;
      if v_made.o_outcome = 'refused' then
        v_error := concat_ws('; ', v_error, f.label || ': ' || (
          select r.error from plait.fires r where r.tenant_id = (f.trigger_row).tenant_id and r.trigger_id = f.trigger and r.event_id = e.event));
      end if;
    end loop;
    update plait.events set dispatched_at = v_now, jobs = v_jobs, error = left(v_error, 2000) where id = e.event;
    v_done := v_done + 1;
  end loop;
  return v_done;
end $$;

CREATE FUNCTION plait.drain(p_worker integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_node text;
begin
  update plait.workers set draining = true where id = p_worker and state = 'alive' returning node into v_node;
  if v_node is not null then
    perform plait._leave_node(v_node, 'draining');
  end if;
end $$;

CREATE FUNCTION plait.due_schedules(p_limit integer DEFAULT 100, p_after uuid DEFAULT NULL::uuid) RETURNS TABLE(now timestamp with time zone, id uuid, revision integer, label text, definition text, cron text, every_s double precision, time_zone text, anchor_at timestamp with time zone, cursor_at timestamp with time zone, catch_up text, catch_up_window_s double precision, payload text, dedupe_key text, correlation_id text, limit_key text, tenant_id uuid, tenant_slug text, tenant_name text, schema text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
  select c.now, t.id, t.revision, t.label, t.definition, t.cron, t.every_s, coalesce(t.time_zone, n.time_zone), t.anchor_at,
         t.cursor_at, t.catch_up, t.catch_up_window_s, t.payload::text, t.dedupe_key, t.correlation_id, t.limit_key, n.id, n.slug, n.name,
         (select d.schema::text from plait.definitions d where d.name = t.definition)
  from (select plait.now() as now) c
  join plait.triggers t on t.next_at is null or t.next_at <= c.now
  join plait.tenants n on n.id = t.tenant_id
  where t.kind = 'schedule' and t.enabled and t.deleted_at is null and t.error is null and (p_after is null or t.id > p_after)
  order by t.id limit p_limit
$$;

CREATE FUNCTION plait.elect(p_holder text, p_lease_s double precision DEFAULT 10, p_resign boolean DEFAULT false, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now timestamptz := plait.now();
  v_was text;
begin
  perform plait._require_read_committed();
  if p_resign and not exists (select from plait.live v join plait.workers w on w.id = v.worker
                              where v.lane in ('leader', 'suspect:leader') and v.state = 'running' and w.holder = p_holder) then
    update plait.leader set expires_at = v_now where name = 'main' and holder = p_holder and expires_at > v_now;
  else
    select holder into v_was from plait.leader where name = 'main';
    insert into plait.leader as l (name, holder, term, expires_at, since)
    values ('main', p_holder, 1, v_now + make_interval(secs => p_lease_s), v_now)
    on conflict (name) do update set holder = p_holder, expires_at = excluded.expires_at,
      term = l.term + (l.holder <> p_holder or l.expires_at <= v_now)::int,
      since = case when l.holder <> p_holder then v_now else l.since end
    where l.holder = p_holder or l.expires_at <= v_now;
    if found and v_was is distinct from p_holder then
      perform plait._depose(v_now);
    end if;
  end if;
  select l.holder = p_holder and l.expires_at > v_now, l.term, l.holder into o_leads, o_term, o_holder from plait.leader l where l.name = 'main';
  o_leads := coalesce(o_leads, false);
end $$;

CREATE FUNCTION plait.emit(name text, data json DEFAULT '{}'::json, tenant text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  v_id     uuid := coalesce(emit.id, plait.uuidv7());
  v_tenant uuid := case when emit.tenant is null then plait._tenant(null) else plait.tenant_id(emit.tenant) end;
begin
  if emit.name is null or emit.name !~ '^[A-Za-z0-9_.:/-]{1,200}$' then
    raise exception 'an event''s name is 1 to 200 letters, digits and _ . : / -, not %', coalesce(quote_literal(left(emit.name, 80)), 'null')
      using errcode = 'PL001';
  end if;
  if emit.data is null or json_typeof(emit.data) <> 'object' or octet_length(emit.data::text) > 262144 then
    raise exception 'an event''s data is a JSON object of at most 256 KiB' using errcode = 'PL001';
  end if;
  if length(emit.correlation_id) not between 1 and 500 then
    raise exception 'a correlation id is 1 to 500 characters' using errcode = 'PL001';
  end if;
  if get_byte(uuid_send(v_id), 6) >> 4 <> 7
     or v_id not between plait._uuid_floor(clock_timestamp() - interval '1 day')      -- clock: an id is a physical thing
                     and plait._uuid_floor(clock_timestamp() + interval '1 day') then  -- clock: as above
    raise exception 'an event''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
  end if;
  if not exists (select from plait.tenants t where t.id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  insert into plait.events (id, tenant_id, at, name, correlation_id, data)
  values (v_id, v_tenant, plait.now(), emit.name, emit.correlation_id, emit.data) on conflict do nothing;
  if not found and not exists (select from plait.events e where e.id = v_id and e.tenant_id = v_tenant and e.name = emit.name) then
    raise exception 'an event''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
  end if;
  return v_id;
end $_$;

CREATE FUNCTION plait.enqueue(definition text, payload json DEFAULT '{}'::json, tenant text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, scheduled_for timestamp with time zone DEFAULT NULL::timestamp with time zone, delay interval DEFAULT NULL::interval, dedupe_key text DEFAULT NULL::text, idempotency_key text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid, after uuid[] DEFAULT NULL::uuid[], on_dependency_failure text DEFAULT 'cancel'::text) RETURNS uuid
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
    p_limit_keys => array[enqueue.limit_key], p_correlation_ids => array[enqueue.correlation_id],
    p_afters => case when enqueue.after is not null then array[enqueue.after::text] end,
    p_on_dependency_failures => array[enqueue.on_dependency_failure]) e;
  return coalesce(v_old, v_id);
end $$;

CREATE FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[] DEFAULT NULL::uuid[], p_queues text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_max_attempts integer[] DEFAULT NULL::integer[], p_scheduled_for timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_delays_s double precision[] DEFAULT NULL::double precision[], p_timeouts_s double precision[] DEFAULT NULL::double precision[], p_dedupe_keys text[] DEFAULT NULL::text[], p_idempotency_keys text[] DEFAULT NULL::text[], p_idempotency_ttls_s double precision[] DEFAULT NULL::double precision[], p_limit_keys text[] DEFAULT NULL::text[], p_correlation_ids text[] DEFAULT NULL::text[], p_source text DEFAULT 'manual'::text, p_in_transaction boolean DEFAULT true, p_afters text[] DEFAULT NULL::text[], p_on_dependency_failures text[] DEFAULT NULL::text[]) RETURNS TABLE(requested uuid, existing uuid)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now      timestamptz := plait._moment();
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
  v_definition plait.definitions;
  v_queues   text[];
  v_there    uuid[];
  v_nodes    uuid[];              -- node jobs, whose nodes are asked for here and now
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
                     p_limit_keys, p_correlation_ids, p_afters) = 0;
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
    if v_definition.active is not false and v_definition.kind is distinct from 'node' then
      begin
        v_queues := array[coalesce(p_queues[1], v_definition.queue, 'default')];
        perform plait._enqueue_plain(
          v_now, p_ids, v_payloads, v_tenant, p_definitions[1], v_queues[1], coalesce(p_priorities[1], v_definition.priority, 100),
          coalesce(p_max_attempts[1], v_definition.max_attempts, 5), p_source,
          case when v_definition.max_running is null and v_definition.rate_count is null then '' else 'd:' || p_definitions[1] end);
        if v_definition.search_keys is not null then
          perform plait._make_searchable(p_ids, p_definitions);
        end if;
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

  select bool_or(not d.active), bool_or(d.search_keys is not null) into v_inactive, v_searchable
    from plait.definitions d where d.name = any(p_definitions);
  if v_inactive then
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
      if p_afters is not null then  -- who waits for the one waits for the other
        p_afters := array(select replace(a, r.requested::text, r.existing::text) from unnest(p_afters) with ordinality u(a, n) order by n);
      end if;
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
                                source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, after)
        select i.id, coalesce(v_tenant, i.tenant_id), v_now, greatest(i.scheduled_for, v_now + make_interval(secs => i.delay_s)),
               i.timeout_s, coalesce(i.priority, d.priority, 100), coalesce(i.max_attempts, d.max_attempts, 5), i.definition,
               coalesce(i.queue, d.queue, 'default'), p_source, i.correlation_id, i.dedupe_key, i.idempotency_key, i.limit_key, i.payload,
               nullif(i.after::uuid[], '{}')
        from unnest(p_ids, p_tenants, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts, p_scheduled_for,
                    p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys, p_limit_keys, p_correlation_ids, p_afters)
             i(id, tenant_id, definition, payload, queue, priority, max_attempts, scheduled_for,
               delay_s, timeout_s, dedupe_key, idempotency_key, limit_key, correlation_id, after)
        left join plait.definitions d on d.name = i.definition
        where cardinality(v_ids) = cardinality(p_ids) or i.id = any(v_ids)
        returning id, tenant_id, scheduled_for, priority, max_attempts, definition, queue, dedupe_key, limit_key, after
      ), l as (
        -- From what the first insert gives back, and not joined to what was asked: that join would be many to many.
        insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition,
                                dedupe_key, limit_key, tied)
        select j.id, j.tenant_id, case when j.scheduled_for > v_now and j.after is null then j.scheduled_for else v_now end, j.priority, j.max_attempts,
               case when j.after is not null then 'waiting' when j.scheduled_for > v_now then 'scheduled'
                    when d.on_node is not null then 'waiting' else 'queued' end::plait.status, t.max_queued is not null, j.queue,
               case when d.kind = 'node' then 'leader'
                    when j.limit_key is not null then 'k:' || j.definition || ':' || j.tenant_id || ':' || j.limit_key
                    when d.max_running is not null or d.rate_count is not null then 'd:' || j.definition
                    else '' end,
               j.definition, j.dedupe_key, j.limit_key, coalesce(d.kind = 'node', false)
        from j
        left join plait.definitions d on d.name = j.definition
        join plait.tenants t on t.id = j.tenant_id
        returning job_id, queue, state, tenant_id, metered, lane
      )
      select array_agg(distinct queue) filter (where state = 'queued'), array_agg(tenant_id) filter (where metered),
             array_agg(job_id) filter (where state = 'waiting' and lane = 'leader')
        into v_queues, v_metered, v_nodes from l;
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

  if v_searchable then
    perform plait._make_searchable(v_ids, p_definitions);
  end if;
  if v_nodes is not null then
    perform plait._ask_nodes(v_now, array(select j.id from plait.jobs j where j.id = any(v_nodes) and j.after is null), p_in_transaction);
  end if;
  if p_afters is not null then
    perform plait._require_read_committed();
    perform plait._depend(v_now, v_ids, array(select i.p from unnest(p_ids, p_on_dependency_failures) with ordinality i(id, p, n)
                                               where i.id = any(v_ids) order by array_position(v_ids, i.id)));
  end if;
  if v_metered is not null then
    for r in select t as id, count(*)::int as n from unnest(v_metered) t group by t order by t loop
      perform plait._reserve(r.id, r.n, true);
    end loop;
  end if;
  if v_queues is not null then
    perform plait._wake(v_queues, p_in_transaction);
  end if;
end $$;

CREATE FUNCTION plait.enqueue_one(p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority integer, p_max_attempts integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  v_now     timestamptz := plait._moment();
  v_clock   timestamptz := clock_timestamp();  -- clock: an id is a physical thing
  v_payload json;
  v_queue   text;
  r         record;
begin
  if (p_id between plait._uuid_floor(v_clock - interval '1 day') and plait._uuid_floor(v_clock + interval '1 day')
      and get_byte(uuid_send(p_id), 6) >> 4 = 7 and octet_length(p_payload) <= 1048576
      and coalesce(p_queue ~ '^[A-Za-z0-9_.:-]{1,100}$', true) and coalesce(p_priority between -32768 and 32767, true)
      and coalesce(p_max_attempts between 1 and 10000, true)
      and (pg_has_role(session_user, 'plait_client', 'member') or pg_has_role(session_user, 'plait_worker', 'member')
           or pg_has_role(session_user, 'plait_admin', 'member'))) is not true then
    perform plait._tenant(p_tenant);
    return false;
  end if;
  begin
    v_payload := p_payload::json;
  exception when data_exception or program_limit_exceeded then
    v_payload := 'null';
  end;
  select d.queue, d.priority, d.max_attempts, exists (select from plait.workers where asleep) as asleep into r
    from plait.tenants t join plait.definitions d on d.name = p_definition
    where d.active and d.kind <> 'node' and d.max_running is null and d.rate_count is null and d.search_keys is null
      and t.id = p_tenant and t.max_queued is null and not exists (select from plait.logins l where l.login = session_user);
  if not found or json_typeof(v_payload) <> 'object' then
    perform plait._tenant(p_tenant);
    return false;
  end if;
  v_queue := coalesce(p_queue, r.queue);
  insert into plait.jobs (id, tenant_id, created_at, priority, max_attempts, definition, queue, payload)
  values (p_id, p_tenant, v_now, coalesce(p_priority, r.priority), coalesce(p_max_attempts, r.max_attempts), p_definition, v_queue, v_payload)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, queue, definition)
  values (p_id, p_tenant, v_now, coalesce(p_priority, r.priority), coalesce(p_max_attempts, r.max_attempts), 'queued', v_queue, p_definition);
  if r.asleep then
    perform plait._wake(array[v_queue]);
  end if;
  return true;
end $_$;

CREATE FUNCTION plait.enter_embed(p_link text, p_hash text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now  timestamptz := plait.now();
  v_ends timestamptz;
begin
  update plait.sessions s set hash = p_hash, link = false
    where s.hash = p_link and s.link and s.role is not null and s.expires_at > v_now and s.created_at > v_now - interval '5 minutes'
    returning s.expires_at into v_ends;
  return v_ends;
end $$;

CREATE FUNCTION plait.examine(p_old_s double precision DEFAULT 60, p_old_xids integer DEFAULT 100000) RETURNS TABLE(level text, code text, finding text, evidence jsonb, advice text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT 'problem'::text,
     'old_transaction'::text,
     format('process %s has a transaction open %s: dead rows pile up behind it, and every queue slows down'::text, a.pid,
         CASE
             WHEN (a.xact_start IS NOT NULL) THEN format('since %s s'::text, (EXTRACT(epoch FROM (clock_timestamp() - a.xact_start)))::integer)
             ELSE format('since %s transactions'::text, GREATEST(age(a.backend_xmin), age(a.backend_xid)))
         END) AS format,
     jsonb_build_object('pid', a.pid, 'user', a.usename, 'application', NULLIF(a.application_name, ''::text), 'state', a.state, 'since', a.xact_start, 'xids', GREATEST(age(a.backend_xmin), age(a.backend_xid))) AS jsonb_build_object,
     format('end it: select pg_terminate_backend(%s); set idle_in_transaction_session_timeout'::text, a.pid) AS format
    FROM pg_stat_activity a
   WHERE ((a.pid <> pg_backend_pid()) AND (a.backend_type IS DISTINCT FROM 'walsender'::text) AND (a.backend_type IS DISTINCT FROM 'autovacuum worker'::text) AND ((a.datname = current_database()) OR (a.datname IS NULL)) AND (((a.xact_start < (clock_timestamp() - make_interval(secs => examine.p_old_s))) AND (COALESCE(a.backend_xmin, a.backend_xid) IS NOT NULL)) OR ((a.xact_start IS NULL) AND (GREATEST(age(a.backend_xmin), age(a.backend_xid)) > examine.p_old_xids))))
 UNION ALL
  SELECT 'problem'::text,
     'old_prepared'::text,
     format('the prepared transaction %s is open since %s s: dead rows pile up behind it'::text, quote_literal(x.gid), (EXTRACT(epoch FROM (clock_timestamp() - x.prepared)))::integer) AS format,
     jsonb_build_object('gid', x.gid, 'owner', x.owner, 'since', x.prepared) AS jsonb_build_object,
     format('commit prepared %1$s, or rollback prepared %1$s'::text, quote_literal(x.gid)) AS format
    FROM pg_prepared_xacts x
   WHERE ((x.database = current_database()) AND (x.prepared < (clock_timestamp() - make_interval(secs => examine.p_old_s))))
 UNION ALL
  SELECT 'problem'::text,
     'old_slot'::text,
     format('the replication slot %s%s holds %s transactions and %s of WAL back'::text, s.slot_name,
         CASE
             WHEN s.active THEN ''::text
             ELSE ', which nobody reads,'::text
         END, s.xids, pg_size_pretty(s.bytes)) AS format,
     jsonb_build_object('slot', s.slot_name, 'kind', s.slot_type, 'active', s.active, 'xids', s.xids, 'wal_bytes', s.bytes) AS jsonb_build_object,
     format('let its reader catch up, or drop it: select pg_drop_replication_slot(%s)'::text, quote_literal((s.slot_name)::text)) AS format
    FROM ( SELECT r.slot_name,
             r.slot_type,
             r.active,
             COALESCE(GREATEST(age(r.xmin), age(r.catalog_xmin)), 0) AS xids,
             (COALESCE(
                 CASE
                     WHEN (NOT pg_is_in_recovery()) THEN pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn)
                     ELSE NULL::numeric
                 END, (0)::numeric))::bigint AS bytes
            FROM pg_replication_slots r) s
   WHERE ((s.xids > examine.p_old_xids) OR ((NOT s.active) AND (s.bytes > 1073741824)))
 UNION ALL
  SELECT 'warning'::text,
     'dead_rows'::text,
     format('plait.%s has %s dead rows beside %s live ones'::text, s.relname, s.n_dead_tup, s.n_live_tup) AS format,
     jsonb_build_object('table', s.relname, 'dead', s.n_dead_tup, 'live', s.n_live_tup, 'vacuumed', GREATEST(s.last_vacuum, s.last_autovacuum)) AS jsonb_build_object,
     format('vacuum plait.%s; what keeps them is an old transaction or autovacuum that is off or too slow'::text, s.relname) AS format
    FROM pg_stat_user_tables s
   WHERE ((s.schemaname = 'plait'::name) AND (s.n_dead_tup > 50000) AND (s.n_dead_tup >
         CASE
             WHEN (s.relname = 'live'::name) THEN (5 * s.n_live_tup)
             ELSE s.n_live_tup
         END))
 UNION ALL
  SELECT 'warning'::text,
     'bloat'::text,
     format('plait.%s takes %s for %s rows'::text, s.relname, pg_size_pretty(s.bytes), s.n_live_tup) AS format,
     jsonb_build_object('table', s.relname, 'bytes', s.bytes, 'live', s.n_live_tup) AS jsonb_build_object,
     format('when there is little to do: vacuum full plait.%s, which locks it; then look why it grew: dead rows, old transactions'::text, s.relname) AS format
    FROM ( SELECT t.relname,
             (GREATEST((t.n_live_tup)::real, c.reltuples))::bigint AS n_live_tup,
             t.n_dead_tup,
             pg_total_relation_size((t.relid)::regclass) AS bytes
            FROM (pg_stat_user_tables t
              JOIN pg_class c ON ((c.oid = t.relid)))
           WHERE ((t.schemaname = 'plait'::name) AND (t.relname = ANY (ARRAY['live'::name, 'workers'::name, 'running_state'::name, 'dedupe'::name, 'fan_outs'::name])))) s
   WHERE ((s.bytes > 67108864) AND (s.bytes > (4096 * (s.n_live_tup + s.n_dead_tup))))
 UNION ALL
  SELECT 'problem'::text,
     'autovacuum_off'::text,
         CASE
             WHEN (v.setting = 'off'::text) THEN 'autovacuum is off for the whole server'::text
             ELSE format('autovacuum is off for plait.%s'::text, v.relname)
         END AS format,
     jsonb_build_object('setting', v.setting, 'table', v.relname) AS jsonb_build_object,
         CASE
             WHEN (v.setting = 'off'::text) THEN 'set autovacuum = on in postgresql.conf, and reload'::text
             ELSE format('alter table plait.%s reset (autovacuum_enabled)'::text, v.relname)
         END AS format
    FROM ( SELECT 'off'::text AS setting,
             NULL::name AS relname
           WHERE (NOT (current_setting('autovacuum'::text))::boolean)
         UNION ALL
          SELECT 'on'::text,
             c.relname
            FROM pg_class c
           WHERE ((c.relnamespace = ('plait'::regnamespace)::oid) AND (c.relkind = 'r'::"char") AND (EXISTS ( SELECT
                    FROM pg_options_to_table(c.reloptions) o(option_name, option_value)
                   WHERE ((o.option_name = 'autovacuum_enabled'::text) AND (NOT (o.option_value)::boolean)))))) v
 UNION ALL
  SELECT 'problem'::text,
     'invalid_index'::text,
     format('the index plait.%s is not valid: nobody uses it, and every write pays for it'::text, c.relname) AS format,
     jsonb_build_object('index', c.relname) AS jsonb_build_object,
     format('reindex index concurrently plait.%s'::text, c.relname) AS format
    FROM (pg_index i
      JOIN pg_class c ON ((c.oid = i.indexrelid)))
   WHERE ((c.relnamespace = ('plait'::regnamespace)::oid) AND (NOT (i.indisvalid AND i.indisready)))
 UNION ALL
  SELECT 'problem'::text,
     'notify_queue'::text,
     format('the server''s queue of notifications is %s %% full; when it is full, enqueues fail'::text, round((((100)::double precision * u.u))::numeric)) AS format,
     jsonb_build_object('full', u.u) AS jsonb_build_object,
     'a session that listens has a transaction open: end it'::text
    FROM pg_notification_queue_usage() u(u)
   WHERE (u.u > (0.5)::double precision);
END;

CREATE FUNCTION plait.explain_job(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(code text, explanation text)
    LANGUAGE plpgsql SECURITY DEFINER
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
  v_root   uuid;
  v_leader record;
  v_leaderless boolean := not exists (select from plait.leader where name = 'main' and expires_at > plait.now());
begin
  select * into j from plait.get_job(p_job, p_tenant, p_all);
  case j.status
    when 'scheduled' then
      return query select 'scheduled', format('it is due in %s', date_trunc('second', j.run_at - v_now));
      if j.attempt > 0 then
        return query select 'retrying', format('%s of %s tries have failed; the last: %s', j.tries, j.max_attempts, coalesce(j.error, j.reason, '?'));
      end if;
      if v_leaderless then
        return query select 'no_leader', 'nobody leads, so nothing that is due becomes queued';
      end if;
    when 'running' then
      return query select 'running', format('worker %s runs it since %s', j.worker, date_trunc('second', v_now - j.claimed_at));
      if j.cancel_requested is not null then
        return query select 'cancel_requested', 'it was asked to stop';
      end if;
      return;
    when 'waiting' then
      return query select 'waiting', case
        when j.wait_on = 'sleep' then format('it sleeps; it goes on in %s', date_trunc('second', j.wake_at - v_now))
        when j.wait_on like 'signal %' then
          format('it waits for the signal %s', quote_literal(substr(j.wait_on, 8)))
          || coalesce(format(', at most %s more', date_trunc('second', j.wake_at - v_now)), '')
        when j.wait_on like 'fan_out %' then coalesce(
          (select format('it waits for %s: %s of %s have succeeded, %s failed, %s canceled',
                         case when f.on_timeout is not null then format('its nodes (%s must be done)', f.needed) when f.strategy = 'nursery' then 'its children'
                              when f.strategy = 'after' then 'jobs that it depends on' else format('its fan-out %s', f.id) end, f.succeeded, f.total, f.failed, f.canceled)
           from plait.fan_outs f where f.id = substr(j.wait_on, 9)::uuid), 'it waits for a fan-out that is not there')
        when j.wait_on = 'turn' then 'its parent''s children run one after the other, and it is not its turn'
        else 'it waits for something that it asked for' end;
      if v_leaderless and j.wake_at is not null then
        return query select 'no_leader', 'nobody leads, so nobody ends its wait when its time has come';
      end if;
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
  if j.node is not null and not exists (select from plait.workers w where w.state = 'alive' and w.node = j.node) then
    return query select 'node_away', format('it is for node %s, which is %s', j.node,
                                            coalesce((select case when n.state = 'left' then 'gone' else 'lost' end from plait.nodes n where n.name = j.node), 'unknown'));
  end if;
  if j.lane in ('leader', 'suspect:leader') then
    select * into v_leader from plait.get_leader();
    if v_leader.holder is null then
      return query select 'no_leader', 'it is for the leader, and nobody leads';
    elsif not exists (select from plait.workers w where w.state = 'alive' and w.holder = v_leader.holder and j.queue = any(w.queues)
                                                        and j.definition = any(w.definitions)) then
      return query select 'leader_runs_no_such_job', format('it is for the leader, and %s, which leads, does not run such jobs: it has no worker, or '
        'another app or other queues', v_leader.holder);
    end if;
    if d.on_node is not null and not exists (select from plait.steps s where s.job_id = j.id and s.name = 'nodes') then
      return query select 'nodes_not_asked', format('the leader will ask the nodes when there are enough for a quorum of %s', d.quorum);
    end if;
  end if;
  if q.serial then
    v_root := plait._holder(j.queue);
    if v_root <> coalesce(j.root_id, j.id) then
      return query select 'serial_queue', format('queue %s is serial, and %s has it', j.queue,
        case when exists (select from plait.jobs r where r.id = v_root and r.tenant_id = j.tenant_id) then format('the tree of job %s', v_root)
             else 'a tree of another tenant' end);
      return query select 'serial_deadlock', format('that tree waits in queue %s, which the tree of this job has: cancel one of them', d.queue)
        from plait._serial_deadlocks() d where d.waits = v_root and d.has = coalesce(j.root_id, j.id);
    end if;
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
  if q.rate_count is not null then
    v_n := plait._tokens('queue ' || j.queue, q.rate_count, q.rate_period_s, v_now);
    return query select 'rate_limited', format('queue %s starts at most %s jobs in %s s; %s may start now', j.queue, q.rate_count, q.rate_period_s, v_n);
  end if;
  if d.rate_count is not null then
    return query select 'rate_limited', format('at most %s jobs of %s start in %s s', d.rate_count, j.definition, d.rate_period_s);
  end if;
  if j.limit_key is not null and d.key_rate_count is not null then
    return query select 'rate_limited', format('at most %s jobs of %s with the key %s start in %s s', d.key_rate_count, j.definition, j.limit_key, d.key_rate_period_s);
  end if;
  if j.lane like 'suspect%' then
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

CREATE FUNCTION plait.failures(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_statuses text[] DEFAULT NULL::text[], p_limit integer DEFAULT 50) RETURNS TABLE(definition text, fingerprint text, error text, jobs bigint, first_at timestamp with time zone, last_at timestamp with time zone, last_job uuid, dead_letters bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from    timestamptz := coalesce(p_from, plait.now() - interval '1 day');
  v_tenants bigint := case when v_tenant is null then (select count(*) from plait.tenants) else 1 end;
begin
  if not p_statuses <@ '{failed,dead_letter}' then
    raise exception 'what fails is failed or a dead letter' using errcode = 'PL001';
  end if;
  return query
    with newest as (
      select a.* from plait.tenants t cross join lateral (
        select a.job_id, a.final, a.error, a.finished_at from plait.attempts a
        where a.tenant_id = t.id and a.final in ('failed', 'dead_letter') and (p_statuses is null or a.final::text = any(p_statuses))
          and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
          and not exists (select from plait.live l where l.job_id = a.job_id)
        order by a.job_id desc limit greatest(20, 2000 / v_tenants)) a
      where (v_tenant is null or t.id = v_tenant) and a.finished_at >= v_from
      limit 2000)
    select j.definition, plait._fingerprint(n.error), (array_agg(left(n.error, 1000) order by n.finished_at desc))[1], count(*),
           min(n.finished_at), max(n.finished_at), (array_agg(n.job_id order by n.finished_at desc))[1],
           count(*) filter (where n.final = 'dead_letter')
    from newest n join plait.jobs j on j.id = n.job_id
    group by 1, 2 order by 4 desc, 6 desc limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.fan_out_load(p_job uuid, p_fan_out uuid DEFAULT NULL::uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_start timestamp with time zone DEFAULT NULL::timestamp with time zone, p_end timestamp with time zone DEFAULT NULL::timestamp with time zone, p_parts integer DEFAULT 100) RETURNS TABLE(at timestamp with time zone, running integer, failed integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_parts  int := least(greatest(p_parts, 1), 500);
  v_start  timestamptz;
  v_end    timestamptz;
  v_width  float8;
  f        plait.fan_outs;
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select * into f from plait.fan_outs o
  where o.parent_id = p_job and (p_fan_out is null or o.id = p_fan_out) order by o.created_at, o.id limit 1;
  v_start := coalesce(p_start, f.created_at);
  v_end := greatest(coalesce(p_end, f.decided_at, plait.now()), v_start + interval '1 ms');
  v_width := extract(epoch from v_end - v_start) / v_parts;
  return query
    with spans as (
      select coalesce(a.started_at, a.claimed_at) as began, a.finished_at as ended, a.status in ('failed', 'timeout', 'lost') as bad
      from (
        select t.id from plait.jobs t where t.root_id = f.root_id and t.fan_out_id = f.id order by t.fan_out_index limit 20000) j
      join plait.attempts a on a.job_id = j.id
      where a.claimed_at is not null and a.claimed_at < v_end and a.finished_at >= v_start
      union all
      select l.run_at, null, false from plait.live l
      where l.root_id = f.root_id and l.fan_out_id = f.id and l.state = 'running' and l.run_at < v_end),
    moves as (
      select greatest(0, floor(extract(epoch from began - v_start) / v_width))::int as part, 1 as began, 0 as ended, 0 as failed from spans
      union all
      select floor(extract(epoch from ended - v_start) / v_width)::int, 0, 1, bad::int from spans where ended < v_end),
    sums as (
      select p.part, coalesce(sum(m.began), 0) as began, coalesce(sum(m.ended), 0) as ended, coalesce(sum(m.failed), 0) as failed
      from generate_series(0, v_parts - 1) p (part) left join moves m on m.part = p.part group by p.part)
    select v_start + make_interval(secs => s.part * v_width),
           (sum(s.began) over (order by s.part) - sum(s.ended) over (order by s.part) + s.ended)::int, s.failed::int
    from sums s where f.id is not null order by s.part;
end $$;

CREATE FUNCTION plait.fan_out_states(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(id uuid, running integer, waiting integer, scheduled integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select f.id, count(*) filter (where l.state = 'running')::int, count(*) filter (where l.state = 'waiting')::int,
           count(*) filter (where l.state = 'scheduled')::int
    from plait.fan_outs f join plait.live l on l.root_id = f.root_id and l.fan_out_id = f.id
    where f.parent_id = p_job and f.succeeded + f.failed + f.canceled < f.total
    group by f.id;
end $$;

CREATE FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text DEFAULT NULL::text, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(id uuid, tenant_id uuid, job_id uuid, kind text, size bigint, sha256 text, created_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    with recursive origin as (
      select j.id, j.tenant_id, coalesce(j.forked_from, case when j.node is not null then j.parent_id end) as from_id
      from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)
      union all
      select j.id, j.tenant_id, coalesce(j.forked_from, case when j.node is not null then j.parent_id end)
      from origin o join plait.jobs j on j.id = o.from_id and j.tenant_id = o.tenant_id
    )
    select a.id, a.tenant_id, a.job_id, a.kind, a.size, a.sha256, a.created_at
    from origin o join plait.artifacts a on a.job_id = o.id and a.tenant_id = o.tenant_id
    where a.sha256 = p_sha256 and (p_kind is null or a.kind = p_kind) and a.doomed_at is null and (o.id = p_job or a.kind = 'payload')
    limit 1;
end $$;

CREATE FUNCTION plait.findings(p_keep interval DEFAULT NULL::interval) RETURNS TABLE(level text, code text, finding text, evidence jsonb, advice text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now  timestamptz := plait.now();
  v_hour timestamptz := date_trunc('minute', v_now) - interval '1 hour';
begin
  return query
    select 'problem', 'unknown_definition',
           format('%s queued jobs of %s on queue %s: workers serve the queue, but none knows the definition', s.n, s.definition, s.queue),
           jsonb_build_object('definition', s.definition, 'queue', s.queue, 'jobs', s.n),
           'start a worker whose code has this job, or cancel them'
    from (select l.queue, l.definition, count(*) as n from plait.live l where l.state = 'queued' group by 1, 2) s
    where exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues))
      and not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues) and s.definition = any(w.definitions));
  return query
    select 'problem', 'no_worker', format('%s queued jobs on queue %s, and no living worker serves it', s.n, s.queue),
           jsonb_build_object('queue', s.queue, 'jobs', s.n),
           format('start one: plait worker APP --queues %s', s.queue)
    from (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
    where not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues));
  return query
    select 'warning', 'queue_paused', format('queue %s is paused with %s queued jobs', q.name, s.n),
           jsonb_build_object('queue', q.name, 'jobs', s.n), format('plait queues resume %s', q.name)
    from plait.queues q join (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.queue = q.name
    where q.paused;
  return query
    select 'warning', 'tenant_paused', format('tenant %s is paused with %s jobs', t.slug, s.n),
           jsonb_build_object('tenant', t.slug, 'jobs', s.n), format('plait tenants set %s --resume', t.slug)
    from plait.tenants t join (select l.tenant_id, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.tenant_id = t.id
    where t.paused;
  return query
    select 'warning', 'stale_worker', format('worker %s on %s was last seen %s s ago', w.id, w.host, extract(epoch from plait.now() - w.seen_at)::int),
           jsonb_build_object('worker', w.id, 'host', w.host, 'seen_s', extract(epoch from plait.now() - w.seen_at)::int),
           'it is declared lost when its lease ends; look at its machine'
    from plait.workers w where w.state = 'alive' and w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2);
  return query
    select 'problem', 'no_leader', 'no leader: delayed jobs and retries do not start, lost workers are not noticed',
           jsonb_build_object('expired_at', (select max(e.expires_at) from plait.leader e)),
           'run plait leader, or plait worker without --no-leader'
    where not exists (select from plait.leader where expires_at > plait.now())
      and exists (select from plait.live);
  return query
    select 'problem', 'leader_runs_no_such_job', format('%s jobs of %s are for the leader, and %s, which leads, does not run them', count(*), l.definition, g.holder),
           jsonb_build_object('definition', l.definition, 'leader', g.holder, 'jobs', count(*)),
           'let only workers of that app lead: others with --no-leader, and no plait leader beside them'
    from plait.get_leader() g join plait.live l on l.lane in ('leader', 'suspect:leader') and l.state = 'queued'
    where not exists (select from plait.workers w where w.state = 'alive' and w.holder = g.holder and l.queue = any(w.queues) and l.definition = any(w.definitions))
    group by l.definition, g.holder;
  return query
    select 'warning', 'lost_node', format('node %s is lost since %s s, and %s parts of node jobs wait for it', n.name, n.seen_s::int, n.open),
           jsonb_build_object('node', n.name, 'seen_s', n.seen_s::int, 'open', n.open),
           'look at the machine; what waits there is canceled when its job ends'
    from plait.list_nodes() n where n.state = 'lost' and n.open > 0;
  return query
    select 'problem', 'overdue', format('%s scheduled jobs are overdue, the oldest by %s s', count(*), extract(epoch from plait.now() - min(l.run_at))::int),
           jsonb_build_object('jobs', count(*), 'oldest_s', extract(epoch from plait.now() - min(l.run_at))::int),
           'the leader promotes them; is one running?'
    from plait.live l where l.state = 'scheduled' and l.run_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'overdue_waits', format('%s jobs wait for a time that has passed, the oldest by %s s', count(*), extract(epoch from plait.now() - min(l.wake_at))::int),
           jsonb_build_object('jobs', count(*), 'oldest_s', extract(epoch from plait.now() - min(l.wake_at))::int),
           'the leader resumes them; is one running?'
    from plait.live l where l.wake_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'missed_resume', format('%s fan-outs are decided, and their parents still wait', count(*)),
           jsonb_build_object('fan_outs', count(*)), 'the leader resumes them; is one running?'
    from plait.fan_outs f where f.waited_for is not null and f.decided_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'serial_deadlock', format('the trees of jobs %s and %s wait for each other''s serial queue, %s and %s', a.waits, b.waits, b.queue, a.queue),
           jsonb_build_object('jobs', jsonb_build_array(a.waits, b.waits), 'queues', jsonb_build_array(b.queue, a.queue)),
           'cancel one of them: plait jobs cancel --tree; let all trees take these queues in the same order'
    from plait._serial_deadlocks() a join plait._serial_deadlocks() b on b.waits = a.has and b.has = a.waits and a.waits < b.waits;
  return query
    select 'problem', 'overdue_schedules', format('%s schedules are overdue, the oldest by %s s', count(*), extract(epoch from plait.now() - min(t.next_at))::int),
           jsonb_build_object('schedules', count(*), 'oldest_s', extract(epoch from plait.now() - min(t.next_at))::int),
           'the leader fires them; is one running?'
    from plait.triggers t where t.kind = 'schedule' and t.enabled and t.deleted_at is null and t.error is null
      and t.next_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'broken_trigger', format('trigger %s of tenant %s cannot fire: %s', t.label, n.slug, t.error),
           jsonb_build_object('trigger', t.label, 'tenant', n.slug, 'error', t.error), 'change it: plait triggers set'
    from plait.triggers t join plait.tenants n on n.id = t.tenant_id where t.enabled and t.deleted_at is null and t.error is not null;
  return query
    select 'problem', 'overdue_events', format('%s events wait for their triggers, the oldest since %s s', count(*), extract(epoch from plait.now() - min(e.at))::int),
           jsonb_build_object('events', count(*), 'oldest_s', extract(epoch from plait.now() - min(e.at))::int),
           'the leader dispatches them; is one running?'
    from plait.events e where e.dispatched_at is null and e.at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'warning', 'refused_events', format('%s events of the last day were refused by a trigger', count(*)),
           jsonb_build_object('events', count(*)), 'plait events list --failed --all-tenants'
    from plait.events e where e.error is not null and e.at > plait.now() - interval '1 day' having count(*) > 0;
  return query
    select 'warning', 'dead_letters', format('%s jobs failed or are dead letters', count(*)),
           jsonb_build_object('jobs', count(*)), 'plait jobs list --all-tenants --status dead_letter'
    from (select from plait.attempts a where a.final in ('failed', 'dead_letter')
            and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
            and not exists (select from plait.live l where l.job_id = a.job_id) limit 10000) s having count(*) > 0;
  return query
    select 'problem', 'growing_dead_letters', format('%s jobs became dead letters within the hour, after %s in the hour before', s.now, s.before),
           jsonb_build_object('last_hour', s.now, 'hour_before', s.before),
           'what they need is down, or a deploy broke them: plait jobs list --all-tenants --status dead_letter'
    from (select coalesce(sum(m.dead_letter) filter (where m.minute >= v_hour), 0) as now,
                 coalesce(sum(m.dead_letter) filter (where m.minute < v_hour), 0) as before
          from plait.minutes m where m.minute >= v_hour - interval '1 hour') s
    where s.now >= 10 and s.now > 2 * s.before;
  return query
    select 'problem', 'stuck_wait', format('%s jobs wait for sub-jobs, and none of these is live any more, the first since %s s', count(*), extract(epoch from v_now - min(s.run_at))::int),
           jsonb_build_object('jobs', count(*), 'job', min(s.job_id::text), 'oldest_s', extract(epoch from v_now - min(s.run_at))::int),
           'nothing will resume them: plait jobs cancel, or plait jobs retry afterwards'
    from (select l.job_id, l.run_at from plait.live l left join plait.fan_outs f on f.id = substr(l.wait_on, 9)::uuid
          where l.state = 'waiting' and l.wait_on like 'fan_out %' and l.run_at < v_now - interval '1 minute'
            and (f.id is null or f.decided_at is null and f.strategy <> 'after'
                 and not exists (select from plait.live c where c.root_id = f.root_id and c.fan_out_id = f.id))
          limit 1000) s having count(*) > 0;
  return query
    select 'warning', 'forgotten_wait', format('%s jobs have waited for a signal for more than a week, and have no timeout', count(*)),
           jsonb_build_object('jobs', count(*), 'job', min(s.job_id::text)), 'send it: plait jobs signal; or give wait_for_signal a timeout'
    from (select l.job_id from plait.live l where l.state = 'waiting' and l.wait_on like 'signal %' and l.wake_at is null
            and l.run_at < v_now - interval '7 days' limit 1000) s having count(*) > 0;
  return query
    select 'warning', 'retention_behind', format('%s jobs are kept for longer than asked, the oldest by %s', count(*), justify_hours(date_trunc('minute', v_now - p_keep - min(s.finished_at)))),
           jsonb_build_object('jobs', count(*), 'lag_s', extract(epoch from v_now - p_keep - min(s.finished_at))::int),
           'the leader prunes them: is one running, and what does its log say?'
    from (select a.finished_at
          from (select j.id from plait.jobs j where j.id < plait._uuid_floor(v_now - p_keep) and j.root_id is null order by j.id limit 1000) j
          cross join lateral (select a.finished_at, a.final from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) a
          where a.final is not null and a.finished_at < v_now - p_keep - interval '1 day'
            and not exists (select from plait.live l where l.job_id = j.id) and not exists (select from plait.live l where l.root_id = j.id)) s
    having count(*) > 0;
  return query
    select 'warning', 'clock_skew', format('the clock of host %s is %s s off the database''s', w.host, w.skew_s::int),
           jsonb_build_object('host', w.host, 'worker', w.id, 'skew_s', round(w.skew_s::numeric, 1)),
           'no decision rests on it, but logs and ids tell wrong times: keep it by NTP'
    from (select distinct on (w.host) w.host, w.id, (w.metadata ->> 'clock')::float8 - extract(epoch from w.started_at)::float8 as skew_s
          from plait.workers w where w.state = 'alive' and w.metadata ->> 'clock' is not null order by w.host, w.id desc) w
    where abs(w.skew_s) > 5;
end $$;

CREATE FUNCTION plait.fire(p_trigger uuid, p_revision integer, p_cursor timestamp with time zone, p_upto timestamp with time zone, p_next timestamp with time zone, p_fires json DEFAULT '[]'::json, p_missed integer DEFAULT 0, p_error text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now   timestamptz := plait._moment();
  v_fired int := 0;
  t       plait.triggers;
  f       record;
begin
  perform plait._require_read_committed();
  select * into t from plait.triggers where id = p_trigger and kind = 'schedule' and enabled and deleted_at is null
    and revision = p_revision and cursor_at = p_cursor for no key update skip locked;
  if not found then
    return null;
  end if;
  if p_upto < p_cursor or p_upto > v_now or p_next <= p_upto then
    raise exception 'a schedule moves on to now at most' using errcode = 'PL001';
  end if;
  for f in
    select * from json_to_recordset(p_fires)
      x(instant timestamptz, payload json, dedupe_key text, correlation_id text, limit_key text, error text) order by instant
  loop
    if (f.instant > p_cursor and f.instant <= p_upto) is not true then
      raise exception 'an instant is between the cursor and now, not %', f.instant using errcode = 'PL001';
    end if;
    v_fired := v_fired + coalesce(((plait._fire(t, v_now, f.instant, null, f.payload, f.dedupe_key, f.correlation_id, f.limit_key,
                                                f.error)).o_outcome = 'enqueued')::int, 0);
    select * into t from plait.triggers where id = t.id;  -- its last job may be a new one
  end loop;
  update plait.triggers set cursor_at = p_upto, next_at = p_next, missed = missed + p_missed, error = left(p_error, 2000) where id = t.id;
  return v_fired;
end $$;

CREATE FUNCTION plait.fork(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_from integer DEFAULT 1) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now     timestamptz := plait._moment();
  v_tenant  uuid := plait._tenant(p_tenant);
  v_id      uuid := plait.uuidv7();
  v_metered boolean;
  v_open    text;
  j         plait.jobs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where id = p_job and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if exists (select from plait.definitions d where d.name = j.definition and not d.active) then
    raise exception 'definition % is inactive: it takes no new jobs', quote_literal(j.definition) using errcode = 'PL007';
  end if;
  select s.name into v_open from plait.steps s left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job and s.seq < p_from
      and (not s.done or s.due_at > v_now and s.kind = 'sleep' or s.fan_out_id is not null and f.decided_at is null)
    order by s.seq limit 1;
  if found then
    raise exception 'step % of the job is not done: fork from an earlier one', quote_literal(v_open) using errcode = 'PL001';
  end if;
  v_metered := exists (select from plait.tenants where id = v_tenant and max_queued is not null);
  if v_metered then
    perform plait._reserve(v_tenant, 1);
  end if;
  insert into plait.jobs (id, tenant_id, created_at, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, limit_key,
                          payload, forked_from, node)
  values (v_id, v_tenant, v_now, j.timeout_s, j.priority, j.max_attempts, j.definition, j.queue, 'manual', j.correlation_id, j.limit_key,
          j.payload, p_job, j.node);
  insert into plait.live (job_id, tenant_id, run_at, attempt, priority, max_attempts, state, metered, queue, lane, definition, limit_key, tied)
  values (v_id, v_tenant, v_now, 1, j.priority, j.max_attempts, 'queued', v_metered, j.queue,
          plait._lane(j.definition, v_tenant, j.limit_key, coalesce('n:' || j.node, '')), j.definition, j.limit_key,
          exists (select from plait.definitions d where d.name = j.definition and d.kind = 'node'));
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (v_id, v_tenant, v_now, 1, 'released', 'forked');
  insert into plait.steps (job_id, tenant_id, fan_out_id, at, due_at, seq, occurrence, attempt, overlapping, done, name, kind, hash, value, error)
  select v_id, tenant_id, fan_out_id, v_now, due_at, seq, occurrence, 1, overlapping, done, name, kind, hash, value, error
  from plait.steps where job_id = p_job and seq < p_from;
  perform plait._make_searchable(array[v_id], array[j.definition]);
  if v_metered then
    perform plait._reserve(v_tenant, 1, true);
  end if;
  perform plait._wake(array[j.queue], true);
  return v_id;
end $$;

CREATE FUNCTION plait.gather(p_job uuid, p_fan_out uuid, p_after integer DEFAULT '-1'::integer, p_limit integer DEFAULT 5000) RETURNS TABLE(o_position integer, fan_out_index integer, job_id uuid, definition text, status text, result text, error text, reason text, attempt integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
declare f plait.fan_outs;
begin
  perform plait._require_read_committed();
  select o.* into f from plait.fan_outs o
    where o.id = p_fan_out and exists (select from plait.steps s where s.job_id = p_job and s.fan_out_id = p_fan_out);
  if not found then
    raise exception 'job % has no fan-out %', p_job, p_fan_out using errcode = 'PL008';
  end if;
  if f.cancel_due then
    perform plait._cancel_remaining(f, plait.now());
  end if;
  if f.streamed then
    -- The page first, then each of its rows by key: whatever the statistics say, never all children for each of them.
    return query
      with page as materialized (
        select o.position, o.fan_out_index from plait.fan_out_order o
        where o.fan_out_id = f.id and o.position > p_after and o.position <= coalesce(f.decided_ended, o.position)
        order by o.position limit p_limit
      )
      select p.position, p.fan_out_index, j.id, j.definition, a.final::text, a.result::text, a.error, a.reason, a.attempt
      from page p
      cross join lateral (select c.id, c.definition from plait.jobs c
                          where c.root_id = f.root_id and c.fan_out_id = f.id and c.fan_out_index = p.fan_out_index offset 0) j
      cross join lateral (select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
      order by p.position;
  else
    return query
      with page as materialized (
        select j.fan_out_index, j.id, j.definition from plait.jobs j
        where j.root_id = f.root_id and j.fan_out_id = f.id and j.fan_out_index > p_after and f.decided_at is not null
          and (f.left_open is null or not j.fan_out_index = any(f.left_open))
        order by j.fan_out_index limit p_limit
      )
      select p.fan_out_index, p.fan_out_index, p.id, p.definition, a.final::text, a.result::text, a.error, a.reason, a.attempt
      from page p
      cross join lateral (select t.* from plait.attempts t where t.job_id = p.id order by t.attempt desc limit 1) a
      order by p.fan_out_index;
  end if;
end $$;

CREATE FUNCTION plait.gather_nodes(p_job uuid) RETURNS TABLE(node text, job_id uuid, definition text, status text, attempt integer, late boolean, result text, error text, finished_at timestamp with time zone, rule text, decided_at timestamp with time zone, total integer, needed integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select n.node, n.job_id, n.definition, case when not n.late then n.status end,
         case when not n.late then n.attempt else 0 end, n.late, case when not n.late then n.result end,
         case when not n.late then n.error end, case when not n.late then n.finished_at end, n.rule, n.decided_at, n.total, n.needed
  from plait._job_nodes(p_job) n
$$;

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
        END AS progress,
    j.parent_id,
    j.root_id,
    j.fan_out_id,
    j.fan_out_index,
    j.depth,
    j.forked_from,
    l.wait_on,
    l.wake_at,
    j.source_ref,
    j.node,
        CASE
            WHEN (l.state = 'running'::plait.status) THEN l.run_at
            WHEN (l.job_id IS NULL) THEN COALESCE(a.started_at, a.claimed_at)
            ELSE NULL::timestamp with time zone
        END AS started_at,
        CASE
            WHEN (l.state = 'running'::plait.status) THEN l.worker
            ELSE a.worker
        END AS last_worker
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

CREATE FUNCTION plait.get_leader() RETURNS TABLE(holder text, term bigint, since timestamp with time zone, expires_at timestamp with time zone, node text, url text, worker integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select l.holder, l.term, l.since, l.expires_at, n.name, n.url, w.id
  from plait.leader l
  left join lateral (select w.id, w.node from plait.workers w where w.state = 'alive' and w.holder = l.holder order by w.id desc limit 1) w on true
  left join plait.nodes n on n.name = w.node
  where l.name = 'main' and l.expires_at > plait.now()
$$;

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

CREATE FUNCTION plait.has_failed_siblings(job uuid, tenant text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select exists (
    select from plait.jobs j join plait.fan_outs f on f.id = j.fan_out_id
    where j.id = has_failed_siblings.job and f.failed + f.canceled > 0
      and j.tenant_id = plait._tenant(case when has_failed_siblings.tenant is not null then plait.tenant_id(has_failed_siblings.tenant) end))
$$;

CREATE FUNCTION plait.has_pending_children(job uuid, tenant text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select exists (
    select from plait.jobs j where j.id = has_pending_children.job and plait._has_open(j.id)
      and j.tenant_id = plait._tenant(case when has_pending_children.tenant is not null then plait.tenant_id(has_pending_children.tenant) end))
$$;

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
    o_released := plait._give_back(p_worker, plait._moment(), 'not_held', p_held, p_held_attempts);
    select array_agg(h.id) into o_gone from unnest(p_held, p_held_attempts) h(id, attempt)
      where not exists (select from plait.live l where l.job_id = h.id and l.attempt = h.attempt and l.worker = p_worker);
  end if;

  select count(*), array_agg(job_id) filter (where cancel_requested is not null),
         array_agg(attempt) filter (where cancel_requested is not null)
    into o_running, o_cancel_jobs, o_cancel_attempts
    from plait.live where worker = p_worker and state = 'running';
end $$;

CREATE FUNCTION plait.history(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_step interval DEFAULT '00:01:00'::interval) RETURNS TABLE(at timestamp with time zone, enqueued bigint, succeeded bigint, failed bigint, dead_letter bigint, canceled bigint, skipped bigint, retried bigint, lost bigint, run_s double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from   timestamptz := coalesce(p_from, plait.now() - interval '1 hour');
begin
  if p_step is null or p_step < interval '1 minute' or (plait.now() - v_from) / 2000 > p_step / 1 then
    raise exception 'a history has at most 2,000 points, of a minute each or more' using errcode = 'PL001';
  end if;
  return query
    select date_bin(p_step, m.minute, 'epoch'), sum(m.enqueued)::bigint, sum(m.succeeded)::bigint, sum(m.failed)::bigint,
           sum(m.dead_letter)::bigint, sum(m.canceled)::bigint, sum(m.skipped)::bigint, sum(m.retried)::bigint, sum(m.lost)::bigint,
           sum(m.run_s)::float8
    from plait.minutes m where m.minute >= date_bin(p_step, v_from, 'epoch') and (v_tenant is null or m.tenant_id = v_tenant)
    group by 1 order by 1;
end $$;

CREATE FUNCTION plait.job_info(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_info   jsonb;
begin
  perform from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  with recursive below as (
    select j.id, j.root_id, array[j.id] as path from plait.jobs j where j.id = p_job
    union all
    select c.id, c.root_id, b.path || c.id from below b join plait.fan_outs f on f.parent_id = b.id
      join plait.jobs c on c.root_id = f.root_id and c.fan_out_id = f.id
  ), said as (
    select b.path, k.key, k.value from below b cross join lateral (
      select distinct on (e.key) e.key, e.value from (
        select a.attempt, a.progress::jsonb -> 'info' as info from plait.attempts a where a.job_id = b.id and a.progress is not null
        union all
        select r.attempt, r.progress::jsonb -> 'info' from plait.running_state r where r.job_id = b.id) s
      cross join lateral jsonb_each(case when jsonb_typeof(s.info) = 'object' then s.info else '{}' end) e
      order by e.key, s.attempt desc) k
  ), shown as (
    -- Whoever has somebody above it, within this tree, that says the same key is not heard.
    select s.key, s.value from said s
    where not exists (select from said p where p.key = s.key and p.path <> s.path and p.path = s.path[:cardinality(p.path)])
  )
  select coalesce(jsonb_object_agg(g.key, g.value), '{}') into v_info from (
    select s.key, case when bool_and(jsonb_typeof(s.value) = 'number') then to_jsonb(sum(case when jsonb_typeof(s.value) = 'number' then (s.value #>> '{}')::numeric end))
                       else (array_agg(s.value))[1] end as value
    from shown s group by s.key) g;
  return v_info;
end $$;

CREATE FUNCTION plait.job_nodes(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(node text, job_id uuid, definition text, status text, attempt integer, late boolean, result text, error text, finished_at timestamp with time zone, rule text, decided_at timestamp with time zone, total integer, needed integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query select * from plait._job_nodes(p_job);
end $$;

CREATE FUNCTION plait.job_tree(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_after_fan_out uuid DEFAULT NULL::uuid, p_after_index integer DEFAULT NULL::integer, p_limit integer DEFAULT 10000) RETURNS TABLE(id uuid, parent_id uuid, fan_out_id uuid, fan_out_index integer, depth integer, definition text, queue text, status text, attempt integer, wait_on text, error text, created_at timestamp with time zone, finished_at timestamp with time zone, own_s double precision, total_s double precision, node text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_root   uuid;
begin
  select coalesce(j.root_id, j.id) into v_root from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select j.id, j.parent_id, j.fan_out_id, j.fan_out_index, coalesce(j.depth, 0)::int, j.definition, j.queue,
           coalesce(l.state, a.final)::text, coalesce(l.attempt, a.attempt), l.wait_on,
           case when l.job_id is null and a.final <> 'succeeded' then coalesce(a.error, a.reason) end, j.created_at,
           case when l.job_id is null then a.finished_at end, d.own_s, case when l.job_id is null then extract(epoch from a.finished_at - d.began)::float8 end,
           j.node
    from (
      (select r.* from plait.jobs r where r.id = v_root and p_after_fan_out is null)
      union all
      (select t.* from plait.jobs t
       where t.root_id = v_root
         and (t.fan_out_id, t.fan_out_index) > (coalesce(p_after_fan_out, '00000000-0000-0000-0000-000000000000'), coalesce(p_after_index, -1))
       order by t.fan_out_id, t.fan_out_index limit least(greatest(p_limit, 1), 10000))
    ) j
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
    left join lateral (
      select sum(extract(epoch from t.finished_at - t.started_at))::float8 as own_s, min(t.started_at) as began
      from plait.attempts t where t.job_id = j.id and t.started_at is not null) d on true
    order by j.fan_out_id nulls first, j.fan_out_index
    limit least(greatest(p_limit, 1), 10000);
end $$;

CREATE FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid := plait._tenant(p_tenant);
  v_id     uuid;
begin
  perform plait._require_read_committed();
  if p_job is null or p_kind is null or p_sha256 is null or p_size is null then
    raise exception 'an artifact has a job, a kind, a hash and a size' using errcode = 'PL001';
  end if;
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  insert into plait.artifacts as a (id, tenant_id, job_id, created_at, expires_at, size, kind, sha256)
  values (plait.uuidv7(), v_tenant, p_job, v_now, v_now + interval '1 day', p_size, p_kind, p_sha256)
  on conflict (tenant_id, job_id, kind, sha256) where doomed_at is null do update set expires_at = excluded.expires_at
  returning id into v_id;
  return v_id;
exception when check_violation then
  raise exception 'an artifact is a payload or a result, with a SHA-256 in hex and a size' using errcode = 'PL001';
end $$;

CREATE FUNCTION plait.latency(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_step interval DEFAULT '00:01:00'::interval) RETURNS TABLE(at timestamp with time zone, jobs bigint, wait_p50 double precision, wait_p95 double precision, run_p50 double precision, run_p95 double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from   timestamptz := coalesce(p_from, plait.now() - interval '1 hour');
  v_shift  interval := clock_timestamp() - plait.now();  -- clock: ids are made by the physical one
begin
  if p_step is null or p_step < interval '1 minute' or (plait.now() - v_from) / 200 > p_step / 1 then
    raise exception 'latencies have at most 200 points, of a minute each or more' using errcode = 'PL001';
  end if;
  return query
    select s.at, count(*), percentile_cont(0.5) within group (order by s.wait), percentile_cont(0.95) within group (order by s.wait),
           percentile_cont(0.5) within group (order by s.run), percentile_cont(0.95) within group (order by s.run)
    from (
      select g.at, extract(epoch from f.claimed_at - greatest(j.created_at, j.scheduled_for))::float8 as wait,
             extract(epoch from l.finished_at - l.started_at)::float8 as run
      from generate_series(date_bin(p_step, v_from, 'epoch'), plait.now(), p_step) g(at)
      cross join lateral (
        (select j.id, j.created_at, j.scheduled_for from plait.jobs j where v_tenant is null
           and j.id >= plait._uuid_floor(greatest(g.at + v_shift, 'epoch')) and j.id < plait._uuid_floor(g.at + p_step + v_shift)
           order by j.id desc limit 100)
        union all
        (select j.id, j.created_at, j.scheduled_for from plait.jobs j where v_tenant is not null and j.tenant_id = v_tenant
           and j.id >= plait._uuid_floor(greatest(g.at + v_shift, 'epoch')) and j.id < plait._uuid_floor(g.at + p_step + v_shift)
           order by j.id desc limit 100)) j
      cross join lateral (
        select a.claimed_at from plait.attempts a where a.job_id = j.id and a.claimed_at is not null order by a.attempt limit 1) f
      cross join lateral (
        select a.started_at, a.finished_at from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) l) s
    group by 1 order by 1;
end $$;

CREATE FUNCTION plait.leave(p_worker integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now  timestamptz;
  v_back int;
  v_node text;
begin
  perform plait._require_read_committed();
  perform from plait.workers where id = p_worker and state = 'alive' for update;
  if not found then
    return 0;
  end if;
  v_now := plait._moment();
  v_back := plait._give_back(p_worker, v_now, 'left', '{}', '{}');
  update plait.workers set asleep = false, running = 0, seen_at = v_now,
    state = case when exists (select from plait.live where worker = p_worker and state = 'running') then 'lost' else 'gone' end
  where id = p_worker returning node into v_node;
  if v_node is not null then
    perform plait._leave_node(v_node, 'left');
  end if;
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

CREATE FUNCTION plait.list_audit(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_actor text DEFAULT NULL::text, p_action text DEFAULT NULL::text, p_object text DEFAULT NULL::text, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, tenant_id uuid, at timestamp with time zone, actor text, action text, object text, request_id text, detail text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select a.id, a.tenant_id, a.at, a.actor, a.action::text, a.object, a.request_id, a.detail::text from plait.audit a
    where (v_tenant is null or a.tenant_id = v_tenant) and a.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      and (p_actor is null or a.actor = p_actor) and (p_action is null or a.action = p_action) and (p_object is null or a.object = p_object)
    order by a.id desc limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.list_children(p_job uuid, p_fan_out uuid DEFAULT NULL::uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_start integer DEFAULT 0, p_limit integer DEFAULT 100) RETURNS TABLE(id uuid, fan_out_index integer, definition text, queue text, status text, attempt integer, created_at timestamp with time zone, run_at timestamp with time zone, finished_at timestamp with time zone, wait_on text, node text, error text, fan_outs integer, attempts text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant  uuid := plait._tenant_or_all(p_tenant, p_all);
  v_root    uuid;
  v_fan_out uuid;
begin
  select coalesce(j.root_id, j.id) into v_root from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select f.id into v_fan_out from plait.fan_outs f
  where f.parent_id = p_job and (p_fan_out is null or f.id = p_fan_out) order by f.created_at, f.id limit 1;
  return query
    select j.id, j.fan_out_index, j.definition, j.queue, coalesce(l.state, a.final)::text, coalesce(l.attempt, a.attempt), j.created_at, l.run_at,
           case when l.job_id is null then a.finished_at end, l.wait_on, j.node,
           case when l.job_id is null and a.final <> 'succeeded' then left(coalesce(a.error, a.reason), 500) end,
           (select count(*)::int from plait.fan_outs f where f.parent_id = j.id),
           coalesce(s.attempts, '[]')
    from (
      select t.* from plait.jobs t
      where t.root_id = v_root and t.fan_out_id = v_fan_out and t.fan_out_index >= p_start
      order by t.fan_out_index limit least(greatest(p_limit, 1), 1000)
    ) j
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.* from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
    left join lateral (
      select json_agg(json_build_object('attempt_no', t.attempt, 'status', t.status, 'worker_id', t.worker, 'claimed_at', t.claimed_at,
                                        'started_at', t.started_at, 'finished_at', t.finished_at) order by t.attempt)::text as attempts
      from (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 100) t) s on true
    order by j.fan_out_index;
end $$;

CREATE FUNCTION plait.list_connectors(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(tenant_id uuid, tenant text, type text, settings json, updated_at timestamp with time zone, updated_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select c.tenant_id, n.slug::text, c.type, c.settings, c.updated_at, c.updated_by
    from plait.connectors c join plait.tenants n on n.id = c.tenant_id where v_tenant is null or c.tenant_id = v_tenant
    order by n.slug, c.type;
end $$;

CREATE FUNCTION plait.list_definitions() RETURNS SETOF plait.definitions
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$ select * from plait.definitions order by name $$;

CREATE FUNCTION plait.list_endpoints(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_endpoint uuid DEFAULT NULL::uuid, p_label text DEFAULT NULL::text) RETURNS TABLE(now timestamp with time zone, id uuid, tenant_id uuid, tenant text, label text, url text, enabled boolean, signature text, statuses text[], definitions text[], key_version integer, old_key_until timestamp with time zone, subscribed_at timestamp with time zone, disabled_at timestamp with time zone, disabled_reason text, created_by text, created_at timestamp with time zone, updated_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select plait.now(), e.id, e.tenant_id, n.slug::text, e.label::text, e.url, e.enabled, e.signature, e.statuses::text[], e.definitions,
      e.key_version, e.old_key_until, e.subscribed_at, e.disabled_at, e.disabled_reason, e.created_by, e.created_at, e.updated_at
    from plait.endpoints e join plait.tenants n on n.id = e.tenant_id
    where (v_tenant is null or e.tenant_id = v_tenant) and (p_endpoint is null or e.id = p_endpoint) and (p_label is null or e.label = p_label)
    order by n.slug, e.label;
end $$;

CREATE TABLE plait.events (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    dispatched_at timestamp with time zone,
    jobs integer DEFAULT 0 NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    correlation_id text,
    error text,
    data json NOT NULL,
    CONSTRAINT events_correlation_id_check CHECK (((length(correlation_id) >= 1) AND (length(correlation_id) <= 500))),
    CONSTRAINT events_name_check CHECK ((name ~ '^[A-Za-z0-9_.:/-]{1,200}$'::text))
);

ALTER TABLE ONLY plait.events FORCE ROW LEVEL SECURITY;

CREATE FUNCTION plait.list_events(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_event uuid DEFAULT NULL::uuid, p_name text DEFAULT NULL::text, p_failed boolean DEFAULT false, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS SETOF plait.events
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select * from plait.events e
    where (v_tenant is null or e.tenant_id = v_tenant) and (p_event is null or e.id = p_event) and (p_name is null or e.name = p_name)
      and (not p_failed or e.error is not null) and e.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by e.id desc limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.list_fan_outs(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_limit integer DEFAULT 100) RETURNS TABLE(id uuid, strategy text, total integer, needed integer, succeeded integer, failed integer, canceled integer, decision text, created_at timestamp with time zone, decided_at timestamp with time zone, timeout_at timestamp with time zone)
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
    select f.id, f.strategy, f.total, f.needed, f.succeeded, f.failed, f.canceled, f.decision, f.created_at, f.decided_at, f.timeout_at
    from plait.fan_outs f where f.parent_id = p_job order by f.created_at, f.id limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.list_fires(p_trigger uuid DEFAULT NULL::uuid, p_event uuid DEFAULT NULL::uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, tenant_id uuid, trigger_id uuid, label text, definition text, at timestamp with time zone, instant timestamp with time zone, event_id uuid, outcome text, job_id uuid, error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select f.id, f.tenant_id, f.trigger_id, t.label::text, t.definition::text, f.at, f.instant, f.event_id, f.outcome, f.job_id, f.error
    from plait.fires f join plait.triggers t on t.id = f.trigger_id
    where (v_tenant is null or f.tenant_id = v_tenant) and (p_trigger is null or f.trigger_id = p_trigger)
      and (p_event is null or f.event_id = p_event)
    order by f.at desc, f.id desc limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.list_jobs(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_statuses text[] DEFAULT NULL::text[], p_queue text DEFAULT NULL::text, p_definition text DEFAULT NULL::text, p_correlation_id text DEFAULT NULL::text, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50, p_parent uuid DEFAULT NULL::uuid, p_root uuid DEFAULT NULL::uuid, p_fan_out uuid DEFAULT NULL::uuid, p_has_children boolean DEFAULT NULL::boolean) RETURNS SETOF plait.job
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select (s.job).* from plait.search_jobs(
    p_tenant, p_all, p_statuses, p_queue, p_definition, p_correlation_id => p_correlation_id, p_parent => p_parent, p_root => p_root,
    p_fan_out => p_fan_out, p_has_children => p_has_children, p_before => p_before, p_limit => p_limit) s
  where (s.job).id is not null
$$;

CREATE FUNCTION plait.list_keys(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_key uuid DEFAULT NULL::uuid, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(id uuid, tenant_id uuid, hint text, name text, role text, created_by text, created_at timestamp with time zone, expires_at timestamp with time zone, revoked_at timestamp with time zone, last_used_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select k.id, k.tenant_id, k.hint, k.name, k.role, k.created_by, k.created_at, k.expires_at, k.revoked_at, k.last_used_at
    from plait.keys k
    where (v_tenant is null or k.tenant_id = v_tenant) and (p_key is null or k.id = p_key)
      and k.id < coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by k.id desc limit least(greatest(p_limit, 1), 1000);
end $$;

CREATE FUNCTION plait.list_nodes() RETURNS TABLE(name text, state text, leads boolean, url text, version text, labels text, workers integer, running integer, open integer, joined_at timestamp with time zone, seen_at timestamp with time zone, seen_s double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select n.name, case when n.state in ('active', 'draining') and coalesce(w.alive, 0) = 0 then 'lost' else n.state end,
         coalesce(w.leads, false), n.url, w.version, n.labels::text, coalesce(w.alive, 0)::int, coalesce(w.running, 0)::int,
         coalesce(p.open, 0)::int,
         n.joined_at, coalesce(w.seen_at, n.joined_at), greatest(0, extract(epoch from plait.now() - coalesce(w.seen_at, n.joined_at)))::float8
  from plait.nodes n left join (
    select w.node, count(*) filter (where w.state = 'alive' and w.expires_at > plait.now()) as alive,
           sum(w.running) filter (where w.state = 'alive') as running, max(w.seen_at) as seen_at,
           (array_agg(w.version order by w.id desc))[1] as version,
           bool_or(w.state = 'alive' and w.holder = (select l.holder from plait.leader l where l.name = 'main' and l.expires_at > plait.now())) as leads
    from plait.workers w where w.node is not null group by w.node) w on w.node = n.name
  left join (
    select substring(l.lane from '^(?:suspect:)?n:(.*)') as node, count(*) as open from plait.live l
    where l.lane <> '' group by 1) p on p.node = n.name
  order by n.name
$$;

CREATE FUNCTION plait.list_places() RETURNS TABLE(worker integer, node text, draining boolean, leads boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select w.id, w.node, w.draining, w.state = 'alive' and w.holder is not null
           and w.holder = (select l.holder from plait.leader l where l.name = 'main' and l.expires_at > plait.now())
  from plait.workers w
$$;

CREATE FUNCTION plait.list_queues(p_tenant uuid DEFAULT NULL::uuid) RETURNS TABLE(name text, paused boolean, queued bigint, scheduled bigint, running bigint, waiting bigint, oldest_s double precision, workers bigint, max_running integer, rate_count integer, rate_period_s double precision, mode text, root_id uuid)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  with l as (
    select queue, sum(jobs) filter (where state = 'queued')::bigint as queued, sum(jobs) filter (where state = 'scheduled')::bigint as scheduled,
           sum(jobs) filter (where state = 'running')::bigint as running, sum(jobs) filter (where state = 'waiting')::bigint as waiting,
           min(oldest) filter (where state = 'queued') as oldest
    from plait._live_counts(p_tenant) group by queue
  ), w as (
    select q as queue, count(*) as workers from plait.workers, unnest(queues) q where state = 'alive' group by q
  ), n as (
    select name from plait.queues union select queue from l union select queue from w
  )
  select n.name, coalesce(s.paused, false), coalesce(l.queued, 0), coalesce(l.scheduled, 0), coalesce(l.running, 0), coalesce(l.waiting, 0),
         case when l.oldest is not null then greatest(0, extract(epoch from plait.now() - l.oldest))::float8 end, coalesce(w.workers, 0), s.max_running, s.rate_count, s.rate_period_s,
         case when s.serial then 'serial' else 'parallel' end, case when s.serial then (
           select j.id from plait.jobs j where j.id = plait._holder(n.name) and (p_tenant is null or j.tenant_id = p_tenant)) end
  from n left join l on l.queue = n.name left join w on w.queue = n.name left join plait.queues s on s.name = n.name
  order by n.name
$$;

CREATE FUNCTION plait.list_retention() RETURNS TABLE(slug text, retention text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select t.slug, t.retention::text from plait.tenants t where t.retention <> '{}' order by t.slug
$$;

CREATE FUNCTION plait.list_schemas(p_names text[]) RETURNS TABLE(name text, schema text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$ select d.name, d.schema::text from plait.definitions d where d.name = any(p_names) and d.schema is not null order by d.name $$;

CREATE FUNCTION plait.list_steps(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS TABLE(seq integer, name text, occurrence integer, kind text, attempt integer, at timestamp with time zone, done boolean, due_at timestamp with time zone, value text, error text, fan_out_id uuid, strategy text, decision text, total integer, succeeded integer, failed integer, canceled integer, timeout_at timestamp with time zone)
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
    select s.seq, s.name, s.occurrence, s.kind, s.attempt, s.at, s.done, s.due_at, s.value::text, s.error, s.fan_out_id,
           f.strategy, f.decision, f.total, f.succeeded, f.failed, f.canceled, f.timeout_at
    from plait.steps s left join plait.fan_outs f on f.id = s.fan_out_id where s.job_id = p_job order by s.seq, s.name, s.occurrence;
end $$;

CREATE FUNCTION plait.list_tenants() RETURNS TABLE(id uuid, slug text, name text, time_zone text, created_at timestamp with time zone, paused boolean, weight integer, max_running integer, max_queued integer, max_triggers integer, queued bigint, running bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select t.id, t.slug, t.name, t.time_zone, t.created_at, t.paused, t.weight::int, t.max_running, t.max_queued, t.max_triggers,
         coalesce(l.queued, 0), coalesce(l.running, 0)
  from plait.tenants t
  left join (select tenant_id, sum(jobs) filter (where state <> 'running')::bigint as queued, sum(jobs) filter (where state = 'running')::bigint as running
             from plait._live_counts(null) group by tenant_id) l on l.tenant_id = t.id
  order by t.slug
$$;

CREATE FUNCTION plait.list_triggers(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_trigger uuid DEFAULT NULL::uuid, p_label text DEFAULT NULL::text) RETURNS TABLE(now timestamp with time zone, id uuid, tenant_id uuid, tenant text, tenant_name text, label text, kind text, origin text, definition text, enabled boolean, event_name text, cron text, every_s double precision, time_zone text, anchor_at timestamp with time zone, cursor_at timestamp with time zone, next_at timestamp with time zone, last_at timestamp with time zone, last_job_id uuid, fired bigint, missed bigint, skipped bigint, held bigint, catch_up text, catch_up_window_s double precision, overlap text, jitter_s double precision, dedupe_window_s integer, queue text, priority integer, max_attempts integer, timeout_s double precision, correlation_id text, dedupe_key text, limit_key text, payload json, created_by text, created_at timestamp with time zone, updated_at timestamp with time zone, error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select plait.now(), t.id, t.tenant_id, n.slug::text, n.name, t.label::text, t.kind, t.origin, t.definition::text, t.enabled,
      t.event_name::text, t.cron, t.every_s, case when t.kind = 'schedule' then coalesce(t.time_zone, n.time_zone) end, t.anchor_at, t.cursor_at,
      t.next_at, t.last_at, t.last_job_id, t.fired, t.missed, t.skipped,
      (select count(*) from plait.fires f where f.trigger_id = t.id and f.outcome = 'held'), t.catch_up, t.catch_up_window_s,
      t.overlap, t.jitter_s, t.dedupe_window_s, t.queue::text, t.priority::int, t.max_attempts::int, t.timeout_s, t.correlation_id,
      t.dedupe_key, t.limit_key, t.payload, t.created_by, t.created_at, t.updated_at, t.error
    from plait.triggers t join plait.tenants n on n.id = t.tenant_id
    where t.deleted_at is null and (v_tenant is null or t.tenant_id = v_tenant) and (p_trigger is null or t.id = p_trigger)
      and (p_label is null or t.label = p_label)
    order by n.slug, t.label;
end $$;

CREATE FUNCTION plait.list_workers(p_since interval DEFAULT '01:00:00'::interval) RETURNS TABLE(id integer, state text, host text, pid integer, version text, queues text[], definitions text[], running integer, metadata text, started_at timestamp with time zone, seen_at timestamp with time zone, expires_at timestamp with time zone, seen_s double precision, stale boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select id, state, host, pid, version, queues, definitions, running, metadata::text, started_at, seen_at, expires_at,
         greatest(0, extract(epoch from plait.now() - seen_at))::float8, state = 'alive' and seen_at < plait.now() - make_interval(secs => lease_s / 2)
  from plait.workers where state = 'alive' or seen_at > plait.now() - p_since order by id
$$;

CREATE FUNCTION plait.load_steps(p_worker integer, p_job uuid, p_attempt integer) RETURNS TABLE(name text, occurrence integer, seq integer, kind text, hash text, value text, error text, done boolean, overlapping boolean, due_at timestamp with time zone, due boolean, fan_out_id uuid, decision text, decided_ended integer, total integer, strategy text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
begin
  if not exists (select from plait.live l where l.job_id = p_job and l.attempt = p_attempt and l.worker = p_worker) then
    return next;
    return;
  end if;
  return query
    select s.name, s.occurrence, s.seq, s.kind, s.hash, s.value::text, s.error, s.done, s.overlapping,
           s.due_at, s.due_at <= plait.now(), s.fan_out_id, f.decision, f.decided_ended, f.total, f.strategy
    from plait.steps s left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job
    order by s.seq, s.name, s.occurrence;
end $$;

CREATE FUNCTION plait.log_attempt(p_worker integer, p_job uuid, p_attempt integer, p_stdout text DEFAULT ''::text, p_stderr text DEFAULT ''::text, p_progress json DEFAULT NULL::json) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid;
  v_was    jsonb;
begin
  perform plait._require_read_committed();
  if json_typeof(p_progress) <> 'object' then
    raise exception 'progress is a JSON object' using errcode = 'PL001';
  end if;
  select tenant_id into v_tenant from plait.live
    where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker for key share;
  if not found then
    return false;
  end if;
  select r.progress::jsonb into v_was from plait.running_state r where r.job_id = p_job and r.attempt = p_attempt for update;
  v_was := case when jsonb_typeof(v_was) = 'object' then v_was else '{}' end;
  v_was := v_was || coalesce(p_progress::jsonb, '{}')
    || jsonb_build_object('stdout', right(coalesce(v_was ->> 'stdout', '') || p_stdout, 65536),
                          'stderr', right(coalesce(v_was ->> 'stderr', '') || p_stderr, 65536));
  insert into plait.running_state (job_id, tenant_id, attempt, updated_at, progress)
  values (p_job, v_tenant, p_attempt, plait.now(), v_was::json)
  on conflict (job_id) do update set attempt = excluded.attempt, updated_at = excluded.updated_at, progress = excluded.progress
    where running_state.attempt <= excluded.attempt;
  return true;
exception when data_exception or program_limit_exceeded then
  raise exception 'progress is JSON, and this is not: %', sqlerrm using errcode = 'PL001';
end $$;

CREATE FUNCTION plait.metrics(p_since timestamp with time zone DEFAULT NULL::timestamp with time zone, p_top integer DEFAULT 50) RETURNS TABLE(metric text, label text, status text, value double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
  v_now    timestamptz := plait.now();
  v_closed timestamptz := coalesce((select closed_to from plait.rolled), date_trunc('minute', v_now));
begin
  return query
    with l as materialized (
      select d.tenant_id, d.queue, d.state, d.jobs, d.oldest from plait._live_counts(null) d
    ), t as (
      select x.tenant_id, case when row_number() over (order by x.jobs desc, x.tenant_id) <= p_top then n.slug::text else '*' end as label
      from (select l.tenant_id, sum(l.jobs) as jobs from l group by 1) x join plait.tenants n on n.id = x.tenant_id
    ), q as (
      select x.queue, case when row_number() over (order by x.jobs desc, x.queue) <= p_top then x.queue else '*' end as label
      from (select l.queue, sum(l.jobs) as jobs from l group by 1) x
    )
    select 'jobs', t.label, l.state::text, sum(l.jobs)::float8 from l join t using (tenant_id) group by 2, 3
    union all
    select 'queue_jobs', q.label, l.state::text, sum(l.jobs)::float8 from l join q using (queue) group by 2, 3
    union all
    select 'queue_oldest', q.label, '', greatest(0, extract(epoch from v_now - min(l.oldest)))::float8 from l join q using (queue)
    where l.state = 'queued' group by 2;
  return query
    select m.metric, x.label, '', x.value
    from (select case when s.n = 1 then 'minutes' else 'closed' end as metric, s.since from unnest(array[coalesce(p_since, v_closed), v_closed]) with ordinality s(since, n)) m
    cross join lateral (
      select sum(n.enqueued)::float8 as enqueued, sum(n.succeeded)::float8 as succeeded, sum(n.failed)::float8 as failed,
             sum(n.dead_letter)::float8 as dead_letter, sum(n.canceled)::float8 as canceled, sum(n.skipped)::float8 as skipped,
             sum(n.retried)::float8 as retried, sum(n.lost)::float8 as lost, sum(n.run_s)::float8 as run_s
      from plait.minutes n where n.minute >= m.since) s
    cross join lateral (values ('enqueued', s.enqueued), ('succeeded', s.succeeded), ('failed', s.failed), ('dead_letter', s.dead_letter),
      ('canceled', s.canceled), ('skipped', s.skipped), ('retried', s.retried), ('lost', s.lost), ('run_s', s.run_s)) x(label, value)
    where x.value is not null;
  return query
    select 'closed_to', '', '', extract(epoch from v_closed)::float8
    union all
    select 'counted', '', '', greatest(0, extract(epoch from v_now - r.seen_at))::float8 from plait.rolled r
    union all
    select 'workers', case when w.state = 'lost' then 'lost' when w.seen_at < v_now - make_interval(secs => w.lease_s / 2) then 'stale' else 'alive' end,
           '', count(*)::float8
    from plait.workers w where w.state <> 'gone' group by 2
    union all
    select 'leader_term', '', '', max(e.term)::float8 from plait.leader e where e.name = 'main' having max(e.term) is not null
    union all
    select 'leader_present', '', '', count(*)::float8 from plait.leader e where e.name = 'main' and e.expires_at > v_now
    union all
    select 'notify_queue', '', '', pg_notification_queue_usage()
    union all
    select 'dead_rows', '', '', s.n_dead_tup::float8 from pg_stat_user_tables s where s.relid = 'plait.live'::regclass
    union all
    (select 'oldest_job', '', '', greatest(0, extract(epoch from v_now - j.created_at))::float8 from plait.jobs j order by j.id limit 1);
end $$;

CREATE FUNCTION plait.open_embed(p_key uuid, p_hash text, p_role text, p_ttl interval) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_ends timestamptz := plait.open_session(p_key, p_hash, '', p_ttl, true);
begin
  update plait.sessions set role = p_role where hash = p_hash;
  return v_ends;
exception when check_violation then
  raise exception 'a view looks, or operates' using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.open_fan_out(p_worker integer, p_job uuid, p_attempt integer, p_fan_out uuid, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_strategy text, p_needed integer, p_early boolean, p_timeout_s double precision, p_cancel_remaining boolean, p_cancel_on_parent_failure boolean, p_nested boolean, p_streamed boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_max_attempts integer[] DEFAULT NULL::integer[], p_timeouts_s double precision[] DEFAULT NULL::double precision[], p_limit_keys text[] DEFAULT NULL::text[]) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now      timestamptz := plait._moment();
  l          plait.live;
  j          plait.jobs;
  v_total    int := cardinality(p_ids);
  v_payloads json[];
  v_metered  boolean;
  v_bad      text;
  v_queues   text[];
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  if l.job_id is null then
    return plait._not_held(p_worker, p_job, p_attempt);
  end if;
  if l.cancel_requested is not null then
    return 'canceled';
  end if;
  select * into j from plait.jobs where id = p_job;
  if exists (select from plait.fan_outs f where f.id = l.fan_out_id and not f.nested) then
    raise exception 'this job may not fan out: the fan-out that it belongs to was opened with nested=False' using errcode = 'PL009';
  end if;
  if coalesce(j.depth, 0) >= 1000 then
    raise exception 'a tree is at most 1000 deep' using errcode = 'PL001';
  end if;
  if p_timeout_s <= 0 or p_timeout_s > 3.2e9 then
    raise exception 'a fan-out''s timeout is more than 0 and at most 100 years, not % s', p_timeout_s using errcode = 'PL001';
  end if;
  v_payloads := plait._check_jobs(
    v_now, p_ids, null, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, null, null,
    p_timeouts_s, null, null, null, p_limit_keys, null, 'system');
  if exists (select from plait.definitions d where not d.active and d.name = any(p_definitions)) then
    select min(d.name) into v_bad from plait.definitions d where not d.active and d.name = any(p_definitions);
    raise exception 'definition % is inactive: it takes no new jobs', quote_literal(v_bad) using errcode = 'PL007';
  end if;
  v_metered := exists (select from plait.tenants t where t.id = l.tenant_id and t.max_queued is not null);
  if v_metered then
    perform plait._reserve(l.tenant_id, v_total);
  end if;

  insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, timeout_at, timeout_s, depth, total, needed, waited_for,
                              early, streamed, nested, cancel_remaining, cancel_on_parent_failure, strategy)
  values (p_fan_out, l.tenant_id, p_job, coalesce(j.root_id, p_job), v_now, v_now + make_interval(secs => p_timeout_s), p_timeout_s,
          coalesce(j.depth, 0) + 1, v_total, p_needed, case when p_streamed then 1 else v_total end,
          p_early, p_streamed, p_nested, p_cancel_remaining, p_cancel_on_parent_failure, p_strategy);
  with c as (
    insert into plait.jobs (id, tenant_id, created_at, timeout_s, priority, max_attempts, definition, queue, source, correlation_id,
                            limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth)
    select i.id, l.tenant_id, v_now, i.timeout_s, coalesce(i.priority, d.priority, 100), coalesce(i.max_attempts, d.max_attempts, 5),
           i.definition, coalesce(i.queue, d.queue, 'default'), 'system', j.correlation_id, i.limit_key, i.payload,
           p_job, coalesce(j.root_id, p_job), p_fan_out, i.n - 1, coalesce(j.depth, 0) + 1
    from unnest(p_ids, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts, p_timeouts_s, p_limit_keys) with ordinality
         i(id, definition, payload, queue, priority, max_attempts, timeout_s, limit_key, n)
    left join plait.definitions d on d.name = i.definition
    returning id, priority, max_attempts, definition, queue, limit_key, root_id
  ), w as (
    insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition, limit_key,
                            root_id, fan_out_id, tied)
    select c.id, l.tenant_id, v_now, c.priority, c.max_attempts, 'queued', v_metered, c.queue,
           case when d.kind = 'node' then 'leader'
                when c.limit_key is not null then 'k:' || c.definition || ':' || l.tenant_id || ':' || c.limit_key
                when d.max_running is not null or d.rate_count is not null then 'd:' || c.definition
                else '' end,
           c.definition, c.limit_key, c.root_id, p_fan_out, coalesce(d.kind = 'node', false)
    from c left join plait.definitions d on d.name = c.definition
    returning queue
  )
  select array_agg(distinct queue) into v_queues from w;
  perform plait._make_searchable(p_ids, p_definitions);
  if v_metered then
    perform plait._reserve(l.tenant_id, v_total, true);
  end if;

  insert into plait.steps (job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, overlapping, name, kind, hash)
  values (p_job, l.tenant_id, p_fan_out, v_now, p_seq, p_occurrence, p_attempt, p_overlapping, p_name,
          case when p_streamed then 'stream' else 'fan_out' end, p_hash);
  perform plait._suspend(l, v_now, 'fan_out ' || p_fan_out, null);
  perform plait._wake(v_queues);
  return 'suspended';
end $$;

CREATE FUNCTION plait.open_nodes(p_worker integer, p_job uuid, p_attempt integer, p_seq integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now timestamptz := plait._moment();
  l     plait.live;
  j     plait.jobs;
  v_id  uuid;
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  if l.job_id is null then
    return plait._not_held(p_worker, p_job, p_attempt);
  end if;
  if l.cancel_requested is not null then
    return 'canceled';
  end if;
  select * into j from plait.jobs where id = p_job;
  v_id := plait._open_nodes(v_now, j, l.metered, p_attempt, p_seq, false);
  if v_id is null then
    return 'none';
  end if;
  perform plait._suspend(l, v_now, 'fan_out ' || v_id, null);
  return 'suspended';
end $$;

CREATE FUNCTION plait.open_nursery(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_serial boolean, p_stop boolean, p_nested boolean, p_cancel_on_parent_failure boolean) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  l plait.live;
  j plait.jobs;
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  if l.job_id is null or l.cancel_requested is not null then
    return case when l.job_id is null then 'stale' else 'canceled' end;
  end if;
  select * into j from plait.jobs where id = p_job;
  if exists (select from plait.fan_outs o where o.id = j.fan_out_id and not o.nested) then
    raise exception 'job % may have no children: its parent does not allow it (allow_nested)', p_job using errcode = 'PL009';
  end if;
  perform plait._own_nursery(j);  -- should the block be left by an error, the job waits for what is open in it all the same
  insert into plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, depth, total, needed, early, streamed, nested,
                              cancel_remaining, cancel_on_parent_failure, strategy, serial, stop)
  values (p_nursery, l.tenant_id, p_job, coalesce(j.root_id, p_job), plait.now(), coalesce(j.depth, 0) + 1, 0, 0, false, false, p_nested,
          false, p_cancel_on_parent_failure, 'nursery', p_serial, p_stop)
  on conflict do nothing;
  insert into plait.steps (job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, overlapping, name, kind)
  values (p_job, l.tenant_id, p_nursery, plait.now(), p_seq, p_occurrence, p_attempt, p_overlapping, p_name, 'nursery')
  on conflict do nothing;
  return 'ready';
end $$;

CREATE FUNCTION plait.open_session(p_key uuid, p_hash text, p_csrf text, p_ttl interval, p_link boolean DEFAULT false) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_now timestamptz := plait.now();
begin
  if p_ttl is null or p_ttl <= interval '0' or p_ttl > interval '31 days' then
    raise exception 'a session lasts up to 31 days' using errcode = 'PL012';
  end if;
  delete from plait.sessions where hash in (select s.hash from plait.sessions s where s.expires_at <= v_now limit 100 for update skip locked);
  insert into plait.sessions (hash, key_id, link, csrf, created_at, expires_at) values (p_hash, p_key, p_link, p_csrf, v_now, v_now + p_ttl);
  return v_now + p_ttl;
end $$;

CREATE FUNCTION plait.overview(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, OUT o_at timestamp with time zone, OUT o_scheduled bigint, OUT o_queued bigint, OUT o_running bigint, OUT o_waiting bigint, OUT o_oldest_queued_s double precision, OUT o_failed bigint, OUT o_dead_letter bigint, OUT o_fan_outs bigint, OUT o_workflows bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  select coalesce(min(d.at), plait.now()), coalesce(sum(d.jobs) filter (where d.state = 'scheduled'), 0),
         coalesce(sum(d.jobs) filter (where d.state = 'queued'), 0), coalesce(sum(d.jobs) filter (where d.state = 'running'), 0),
         coalesce(sum(d.jobs) filter (where d.state = 'waiting'), 0),
         greatest(0, extract(epoch from plait.now() - min(d.oldest) filter (where d.state = 'queued')))::float8
    into o_at, o_scheduled, o_queued, o_running, o_waiting, o_oldest_queued_s
    from plait._live_counts(v_tenant) d;
  if o_queued = 0 then
    o_oldest_queued_s := null;
  end if;
  select count(*) filter (where s.final = 'failed'), count(*) filter (where s.final = 'dead_letter') into o_failed, o_dead_letter from (
    select a.final from plait.attempts a
    where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant)
      and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
    limit 2000) s;
  select count(*), count(distinct s.root) into o_fan_outs, o_workflows from (
    select coalesce(l.root_id, l.job_id) as root from plait.live l
    where l.state = 'waiting' and l.wait_on like 'fan_out %' and (v_tenant is null or l.tenant_id = v_tenant) limit 2000) s;
end $$;

CREATE FUNCTION plait.pending_events(p_limit integer DEFAULT 100) RETURNS TABLE(id uuid, name text, at timestamp with time zone, correlation_id text, data text, tenant_id uuid, tenant_slug text, tenant_name text, triggers text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
  with recursive n as (
    (select p.tenant_id from plait.events p where p.dispatched_at is null order by p.tenant_id limit 1)
    union all
    select (select p.tenant_id from plait.events p where p.dispatched_at is null and p.tenant_id > n.tenant_id order by p.tenant_id limit 1)
    from n where n.tenant_id is not null
  ), turns as (
    select p.id, p.turn from n cross join lateral (
      select p.id, row_number() over (order by p.id) as turn from plait.events p
      where p.dispatched_at is null and p.tenant_id = n.tenant_id
      order by p.id limit 1 + p_limit / greatest(1, (select count(*) from n))) p
    order by p.turn, p.id limit p_limit
  ), sized as (
    select turns.turn, p.*, 1000 + octet_length(p.data::text) + coalesce((
        select sum(1000 + octet_length(t.payload::text)
                   + coalesce((select octet_length(d.schema::text) from plait.definitions d where d.name = t.definition), 0))
        from plait.triggers t where t.tenant_id = p.tenant_id and t.event_name = p.name and t.kind = 'event' and t.enabled
          and t.deleted_at is null and t.created_at <= p.at), 0) as size
    from turns join plait.events p on p.id = turns.id
  ), page as (
    select s.*, sum(s.size) over (order by s.turn, s.size, s.id) - s.size as size_before from sized s
  )
  select e.id, e.name, e.at, e.correlation_id, e.data::text, o.id, o.slug, o.name,
         coalesce((select json_agg(json_build_object(
                     'id', t.id, 'revision', t.revision, 'label', t.label, 'definition', t.definition, 'payload', t.payload::text,
                     'dedupe_key', t.dedupe_key, 'correlation_id', t.correlation_id, 'limit_key', t.limit_key,
                     'schema', (select d.schema::text from plait.definitions d where d.name = t.definition)) order by t.id)
                   from plait.triggers t where t.tenant_id = e.tenant_id and t.event_name = e.name and t.kind = 'event' and t.enabled
                     and t.deleted_at is null and t.created_at <= e.at)::text, '[]')
  from page e join plait.tenants o on o.id = e.tenant_id
  where e.size_before < 4000000
  order by e.turn, e.size, e.id
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
  if exists (select from plait.live where state = 'scheduled' and run_at <= v_now) then
    v_now := plait._moment();
  end if;
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

CREATE FUNCTION plait.prune(p_succeeded interval DEFAULT NULL::interval, p_skipped interval DEFAULT NULL::interval, p_canceled interval DEFAULT NULL::interval, p_failed interval DEFAULT NULL::interval, p_dead_letter interval DEFAULT NULL::interval, p_cursor uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 1000, p_archive boolean DEFAULT false, OUT o_pruned integer, OUT o_cursor uuid, OUT o_archive text[]) RETURNS record
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
  v_root uuid;
  v_below record;
begin
  perform plait._require_read_committed();
  select least(v_keep, min(e.value::float8) * interval '1 s') into v_keep
    from plait.tenants t, jsonb_each_text(t.retention) e where t.retention <> '{}';
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
  delete from plait.nodes n where n.state in ('lost', 'left') and not exists (select from plait.workers w where w.node = n.name);
  delete from plait.buckets where name in (
    select name from plait.buckets where full_at <= v_now order by full_at limit p_limit for update skip locked);
  -- What became of old occasions. A schedule does not need them: its cursor never goes back.
  delete from plait.fires where id in (
    select id from plait.fires where at < v_now - interval '30 days' and outcome <> 'held' order by at limit p_limit for update skip locked);
  delete from plait.events where id in (
    select id from plait.events where id < plait._uuid_floor(v_now - interval '30 days') and dispatched_at is not null order by id limit p_limit
    for update skip locked);
  -- Triggers that were deleted: what they had made is forgotten by now.
  delete from plait.triggers where id in (
    select id from plait.triggers where deleted_at < v_now - interval '31 days' order by deleted_at limit p_limit for update skip locked);

  select array_agg(c.id order by c.id) into v_jobs from (
    select j.id from plait.jobs j
    cross join lateral (select a.final, a.finished_at from plait.attempts a where a.job_id = j.id order by a.attempt desc limit 1) a
    left join plait.tenants t on t.id = j.tenant_id and t.retention <> '{}' and t.retention ? a.final::text
    where j.id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000') and j.id <= v_last and j.root_id is null
      and a.finished_at < v_now - case when t.id is not null then (t.retention ->> a.final::text)::float8 * interval '1 s' else
        case a.final when 'succeeded' then p_succeeded when 'skipped' then p_skipped when 'canceled' then p_canceled
                     when 'failed' then p_failed when 'dead_letter' then p_dead_letter end end
      and not exists (select from plait.live l where l.job_id = j.id)
      and not exists (select from plait.live l where l.root_id = j.id)
    for update of j skip locked) c;
  if v_jobs is null then
    return;
  end if;
  -- With the rows locked, look again: an operator's retry may have come in between, and even have ended.
  select array_agg(id) into v_jobs from unnest(v_jobs) id
    where not exists (select from plait.live l where l.job_id = id) and not exists (select from plait.live l where l.root_id = id)
      and not exists (select from plait.attempts a where a.job_id = id and a.finished_at >= v_now - v_keep);
  for v_root in select distinct f.root_id from plait.fan_outs f where f.root_id = any(v_jobs) order by 1 loop
    v_below := plait._prune_below(v_root, greatest(p_limit - o_pruned, 100), p_archive);
    o_pruned := o_pruned + v_below.o_pruned;
    o_archive := o_archive || v_below.o_archive;
    if exists (select from plait.jobs j where j.root_id = v_root) then
      -- Too much for one batch: the next one goes on here.
      v_jobs := array(select i from unnest(v_jobs) i where i < v_root);
      o_cursor := coalesce((select max(j.id::text)::uuid from plait.jobs j where j.id < v_root and j.id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000')), p_cursor,
                           '00000000-0000-0000-0000-000000000000');
      exit;
    end if;
  end loop;
  o_archive := o_archive || plait._forget(v_jobs, p_archive);
  o_pruned := o_pruned + coalesce(cardinality(v_jobs), 0);
end $$;

CREATE FUNCTION plait.record(p_tenant uuid, p_actor text, p_action text, p_object text, p_request_id text, p_detail json) RETURNS uuid
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  insert into plait.audit (id, tenant_id, at, actor, action, object, request_id, detail)
  values (plait.uuidv7(), p_tenant, plait.now(), p_actor, p_action, p_object, p_request_id, coalesce(p_detail, '{}')) returning id
$$;

CREATE FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision DEFAULT 30, p_metadata json DEFAULT '{}'::json, p_node text DEFAULT NULL::text, p_holder text DEFAULT NULL::text, p_labels json DEFAULT NULL::json, p_url text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_id int;
begin
  if p_lease_s is null or p_lease_s <= 0 or p_lease_s > 86400 then
    raise exception 'a lease is between 0 s and a day, not % s', p_lease_s using errcode = 'PL012';
  end if;
  if p_node is not null then
    insert into plait.nodes as n (name, url, labels) values (p_node, p_url, coalesce(p_labels::jsonb, '{}'))
    on conflict (name) do update set state = 'active', url = coalesce(excluded.url, n.url), labels = coalesce(p_labels::jsonb, n.labels),
      joined_at = case when n.state in ('lost', 'left') then plait.now() else n.joined_at end;
  end if;
  insert into plait.workers (host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at, node, holder)
  values (p_host, p_pid, p_version, p_queues, p_definitions, p_metadata, p_lease_s, plait.now(), plait.now(),
          plait.now() + make_interval(secs => p_lease_s), p_node, p_holder)
  returning id into v_id;
  return v_id;
exception when check_violation then
  raise exception 'a node has a name of 1 to 100 letters, digits and _ . : -, an address of at most 500, and labels by name' using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.release_fires(p_limit integer DEFAULT 100) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now timestamptz;
  v_n   int := 0;
  t     plait.triggers;
  f     plait.fires;
begin
  perform plait._require_read_committed();
  if not exists (select from plait.fires where outcome = 'held') then
    return 0;
  end if;
  v_now := plait._moment();
  for t in
    select * from plait.triggers g
    where g.id in (select h.trigger_id from plait.fires h where h.outcome = 'held') and g.enabled and g.deleted_at is null
      and not exists (select from plait.live l where l.job_id = g.last_job_id)
    order by g.id limit p_limit for no key update skip locked
  loop
    select * into f from plait.fires h where h.trigger_id = t.id and h.outcome = 'held' order by h.instant limit 1;
    continue when not found;
    perform plait._fire(t, v_now, f.instant, null, f.held -> 'payload', f.held ->> 'dedupe_key', f.held ->> 'correlation_id',
                        f.held ->> 'limit_key', null, f.id);
    v_n := v_n + 1;
  end loop;
  return v_n;
end $$;

CREATE FUNCTION plait.report_requests(p_tenants uuid[], p_origins text[], p_ok boolean[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_now timestamptz := plait.now();
begin
  delete from plait.circuits where (tenant_id, origin) in (
    select c.tenant_id, c.origin from plait.circuits c
    where (c.tenant_id, c.origin) in (select i.t, i.origin from unnest(p_tenants, p_origins, p_ok) i(t, origin, ok) where i.ok)
    order by 1, 2 for update);
  insert into plait.circuits as c (tenant_id, origin, failures, updated_at, opened_at, open_until)
  select i.t, i.origin, count(*), v_now, case when count(*) >= 5 then v_now end, case when count(*) >= 5 then v_now + interval '30 s' end
  from unnest(p_tenants, p_origins, p_ok) i(t, origin, ok) where not i.ok group by 1, 2 order by 1, 2
  on conflict (tenant_id, origin) do update set failures = c.failures + excluded.failures, updated_at = v_now,
    opened_at = case when c.failures + excluded.failures >= 5 then coalesce(c.opened_at, v_now) end,
    open_until = case when c.failures + excluded.failures >= 5
      then v_now + make_interval(secs => least(30 * 2.0 ^ least(c.failures + excluded.failures - 5, 10), 600)) end;
  delete from plait.circuits where (tenant_id, origin) in (
    select c.tenant_id, c.origin from plait.circuits c where c.updated_at < v_now - interval '1 day' order by c.updated_at limit 100
    for update skip locked);
end $$;

CREATE FUNCTION plait.reschedule(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_max_attempts integer DEFAULT NULL::integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait._moment();
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
  v_now := plait.now();  -- it may have waited for the lock
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

CREATE FUNCTION plait.rescue(p_limit integer DEFAULT 1000, p_max_losses integer DEFAULT 3, p_cancel_grace_s double precision DEFAULT 30, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer, OUT o_resumed integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[] := '{}';
  l        plait.live;
  v_counts boolean;
  v_ended  uuid[] := '{}';
  v_fans   uuid[] := '{}';
  v_finals plait.status[] := '{}';
  v_depth  int;
  v_returned uuid[];
  f        plait.fan_outs;
  v_end    record;
  v_nodes  text[];
  v_node   text;
begin
  perform plait._require_read_committed();
  o_lost := 0; o_requeued := 0; o_dead := 0; o_canceled := 0; o_resumed := 0;

  for l in
    select v.* from plait.workers w join plait.live v on v.worker = w.id and v.state = 'running'
    where w.state = 'lost' order by v.job_id limit p_limit for update of v skip locked
  loop
    v_counts := l.lane like 'suspect%';
    if l.cancel_requested is not null then
      perform plait._end(l, v_now, 'canceled', 'canceled', 'cancel_forced', coalesce(l.cancel_reason, 'its worker was lost while it was asked to stop'));
      o_canceled := o_canceled + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'canceled'::plait.status;
    elsif v_counts and (l.losses + 1 >= p_max_losses or l.tries + 1 >= l.max_attempts)
          and l.tied and plait._has_open(l.job_id) then
      perform plait._suspend(l, v_now, 'fan_out ' || l.job_id, null);   -- it is buried when its children have ended
      update plait.attempts set status = 'lost', reason = 'worker_lost', error = format('its worker was lost %s times while it ran', l.losses + 2)
        where job_id = l.job_id and attempt = l.attempt;
      v_returned := v_returned || l.job_id;
      o_dead := o_dead + 1;
    elsif v_counts and (l.losses + 1 >= p_max_losses or l.tries + 1 >= l.max_attempts) then
      perform plait._end(l, v_now, 'lost', 'dead_letter', 'worker_lost', format('its worker was lost %s times while it ran', l.losses + 2));
      o_dead := o_dead + 1;
      v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'dead_letter'::plait.status;
    else
      update plait.live set state = 'queued', worker = null, run_at = v_now,
        lane = case when lane = 'leader' or lane like 'n:%' then 'suspect:' || lane when lane like 'suspect:%' then lane else 'suspect' end,
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
    v_ended := v_ended || l.job_id; v_fans := v_fans || l.fan_out_id; v_finals := v_finals || 'canceled'::plait.status;
  end loop;
  if cardinality(v_ended) > 0 or v_returned is not null then
    perform plait._fan_in(v_now, v_ended, v_fans, v_finals, v_returned, array(select 'dead_letter'::plait.status from unnest(v_returned)));
  else
    -- What was passed by because a row was locked. Not after the above: fan-outs are locked deepest first. For the same reason only
    -- one level of those whose parents end by it, which their fan-outs then count.
    select max(depth) into v_depth from plait.fan_outs where waited_for is not null and decided_at is not null and (id = parent_id or strategy = 'after' or on_timeout is not null);
    for f in
      select * from plait.fan_outs
      where waited_for is not null and decided_at is not null and (id <> parent_id and strategy <> 'after' and on_timeout is null or depth = v_depth)
      order by depth desc, id limit p_limit for no key update skip locked
    loop
      v_end := plait._resume_parent(f, v_now);
      o_resumed := o_resumed + v_end.o_resumed::int;
      if v_end.o_job is not null then
        v_ended := v_ended || v_end.o_job; v_fans := v_fans || v_end.o_fan_out; v_finals := v_finals || v_end.o_final;
      end if;
    end loop;
    if cardinality(v_ended) > 0 then
      perform plait._fan_in(v_now, v_ended, v_fans, v_finals);
    else
      for f in
        select * from plait.fan_outs where serial and turn is null and decided_at is null and succeeded + failed + canceled < total
        order by id limit p_limit for no key update skip locked
      loop
        perform plait._next_turn(f);
      end loop;
    end if;
  end if;

  with e as materialized (
    select id from plait.workers where state = 'alive' and expires_at < v_now order by id for update skip locked
  ), w as (
    update plait.workers w set state = 'lost', asleep = false from e where w.id = e.id and w.expires_at < v_now returning w.node
  )
  select count(*), array_agg(distinct w.node order by w.node) filter (where w.node is not null) into o_lost, v_nodes from w;
  foreach v_node in array coalesce(v_nodes, '{}') loop
    perform plait._leave_node(v_node, 'lost');
  end loop;
  if cardinality(v_ended) = 0 and v_returned is null then   -- for the same reason as above
    perform plait._depose(v_now);
  end if;

  if cardinality(v_queues) > 0 then
    perform plait._wake(v_queues);
  end if;
end $$;

CREATE FUNCTION plait.reserve_reply(p_tenant uuid, p_key_id uuid, p_key text, p_hash text, OUT o_begun boolean, OUT o_status integer, OUT o_body text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now timestamptz := plait.now();
  r     plait.replies;
begin
  if p_key is null or length(p_key) not between 1 and 500 then
    raise exception 'an idempotency key is 1 to 500 characters' using errcode = 'PL001';
  end if;
  delete from plait.replies where (tenant_id, key_id, key) in (
    select x.tenant_id, x.key_id, x.key from plait.replies x where x.expires_at <= v_now limit 100 for update skip locked);
  insert into plait.replies (tenant_id, key_id, key, hash, at, expires_at)
  values (p_tenant, p_key_id, p_key, p_hash, v_now, v_now + interval '1 day') on conflict do nothing;
  if found then
    o_begun := true;
    return;
  end if;
  select * into r from plait.replies where tenant_id = p_tenant and key_id = p_key_id and key = p_key for update;
  if r.hash is distinct from p_hash then
    raise exception 'this idempotency key was used with another request' using errcode = 'PL006';
  end if;
  o_begun := r.status is null and r.at < v_now - interval '1 minute';
  if o_begun then
    update plait.replies set at = v_now where tenant_id = p_tenant and key_id = p_key_id and key = p_key;
  end if;
  o_status := r.status;
  o_body := r.body;
end $$;

CREATE FUNCTION plait.resume(p_limit integer DEFAULT 1000, OUT o_resumed integer, OUT o_timed_out integer, OUT o_next_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[];
  f        plait.fan_outs;
  e        record;
  v_ended  uuid[];
  v_fans   uuid[];
  v_finals plait.status[];
begin
  perform plait._require_read_committed();
  with due as materialized (
    select l.job_id from plait.live l where l.wake_at <= v_now order by l.wake_at limit p_limit for update skip locked
  ), u as (
    update plait.live l set state = 'queued', run_at = plait._moment(), wait_on = null, wake_at = null from due where l.job_id = due.job_id
    returning l.queue
  )
  select count(*), array_agg(distinct queue) into o_resumed, v_queues from u;
  if o_resumed > 0 then
    perform plait._wake(v_queues);
  end if;
  o_timed_out := 0;
  -- One level at a time, since a node job may end by it, which its own fan-out then counts: fan-outs are locked deepest first.
  for f in
    select * from plait.fan_outs where timeout_at <= v_now and decided_at is null
      and depth = (select max(o.depth) from plait.fan_outs o where o.timeout_at <= v_now and o.decided_at is null)
    order by timeout_at limit p_limit for update skip locked
  loop
    e := plait._decide(f, v_now, case when f.on_timeout = 'proceed' or f.on_timeout = 'fail' and f.succeeded >= f.needed
                                      then 'succeeded' else 'timeout' end);
    o_timed_out := o_timed_out + 1;
    if e.o_job is not null then
      v_ended := v_ended || e.o_job; v_fans := v_fans || e.o_fan_out; v_finals := v_finals || e.o_final;
    end if;
  end loop;
  if v_ended is not null then
    perform plait._fan_in(v_now, v_ended, v_fans, v_finals);
  end if;
  select greatest(0, extract(epoch from least(
      (select min(wake_at) from plait.live where wake_at is not null),
      (select min(timeout_at) from plait.fan_outs where timeout_at is not null and decided_at is null)) - v_now))
    into o_next_s;
end $$;

CREATE FUNCTION plait.retry(p_job uuid, p_tenant uuid DEFAULT NULL::uuid, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_max_attempts integer DEFAULT NULL::integer, p_steps text DEFAULT 'keep'::text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait._moment();
  v_tenant uuid := plait._tenant(p_tenant);
  v_job    plait.jobs;
  v_state  plait.status;
  v_final  plait.status;
  f        plait.fan_outs;
begin
  perform plait._require_read_committed();
  if p_max_attempts not between 1 and 10000 then
    raise exception 'max_attempts is between 1 and 10000, not %', p_max_attempts using errcode = 'PL001';
  end if;
  if p_run_at not between v_now - interval '100 years' and v_now + interval '100 years' then
    raise exception 'a job is scheduled within 100 years of now, not for %', p_run_at using errcode = 'PL001';
  end if;
  if p_steps is null or p_steps not in ('keep', 'drop') then
    raise exception 'steps are kept or dropped: keep or drop, not %', coalesce(quote_literal(p_steps), 'null') using errcode = 'PL001';
  end if;
  select * into v_job from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if v_job.root_id is not null then
    perform from plait.jobs where id = v_job.root_id for key share;
  end if;
  select final into v_final from plait.attempts where job_id = p_job order by attempt desc limit 1;
  v_state := plait._reopen(v_job, v_now, p_run_at, p_max_attempts, p_steps = 'drop');
  if v_job.fan_out_id is not null then
    select * into f from plait.fan_outs where id = v_job.fan_out_id for no key update;
    if f.decided_at is not null or f.strategy = 'nursery' and not exists (select from plait.live l where l.job_id = f.parent_id) then
      raise exception 'the fan-out of this job is decided, and its parent has gone on: retry the whole tree' using errcode = 'PL009',
        detail = 'its root is job ' || v_job.root_id;
    end if;
    if f.serial then
      raise exception 'the siblings of this job run one after the other, and it has had its turn: retry the whole tree' using errcode = 'PL009',
        detail = 'its root is job ' || v_job.root_id;
    end if;
    if f.streamed then
      raise exception 'the fan-out of this job is a stream, and its parent may have read how it ended: retry the whole tree'
        using errcode = 'PL009', detail = 'its root is job ' || v_job.root_id;
    end if;
    update plait.fan_outs set succeeded = succeeded - (v_final = 'skipped')::int, canceled = canceled - (v_final = 'canceled')::int,
      failed = failed - (v_final in ('failed', 'dead_letter'))::int where id = f.id;
  end if;
  return v_state::text;
end $$;

CREATE FUNCTION plait.retry_tree(p_job uuid, p_tenant uuid DEFAULT NULL::uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now    timestamptz := plait._moment();
  v_tenant uuid := plait._tenant(p_tenant);
  v_front  uuid[] := array[p_job];
  v_next   uuid[];
  v_n      int := 0;
  v_last   uuid;
  v_serial uuid[];
  j        plait.jobs;
  f        plait.fan_outs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if j.root_id is not null then
    raise exception 'job % is not the root of its tree: retry %', p_job, j.root_id using errcode = 'PL009';
  end if;
  perform from plait.fan_outs where root_id = p_job order by depth desc, id for no key update;
  while v_front is not null loop
    v_next := null;
    for j in select * from plait.jobs where id = any(v_front) order by id for no key update loop
      v_last := plait._failed_last(j.id);
      for f in
        update plait.fan_outs o set failed = 0, canceled = 0, decided_at = null, decision = null, rule = null, decided_ended = null, left_open = null,
          cancel_due = false, waited_for = null, timeout_at = v_now + make_interval(secs => timeout_s),
          turn = case when o.serial then (select l.job_id from plait.live l where l.root_id = o.root_id and l.fan_out_id = o.id and l.wait_on is distinct from 'turn' limit 1) end
        where o.parent_id = j.id and not o.streamed
          and (o.id = v_last or o.strategy = 'nursery' and o.failed + o.canceled > 0 and (o.id = j.id or o.decided_at is null))
        returning *
      loop
        v_next := v_next || plait._unsuccessful(f);
        if f.serial and f.turn is null then  -- else one still runs
          v_serial := v_serial || f.id;
        end if;
      end loop;
      perform plait._reopen(j, v_now, null, null, false);
      v_n := v_n + 1;
    end loop;
    v_front := nullif(v_next, '{}');
  end loop;
  for f in select * from plait.fan_outs where id = any(v_serial) order by id loop
    perform plait._next_turn(f);
  end loop;
  return v_n;
end $$;

CREATE FUNCTION plait.revoke_key(p_key uuid, p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  update plait.keys set revoked_at = coalesce(revoked_at, plait.now()) where id = p_key and (v_tenant is null or tenant_id = v_tenant);
  if not found then
    raise exception 'there is no key %', p_key using errcode = 'PL008';
  end if;
  delete from plait.sessions where key_id = p_key;
end $$;

CREATE FUNCTION plait.roll_up(OUT o_more boolean, OUT o_took_s double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
  v_now   timestamptz := plait.now();        -- before this transaction gets its number
  v_this  timestamptz := date_trunc('minute', v_now);
  v_to    timestamptz;
  v_ended boolean;
  r       plait.rolled;
begin
  o_more := false;
  o_took_s := 0;
  perform plait._require_read_committed();
  if not pg_try_advisory_xact_lock(hashtextextended('plait.roll_up', 0)) then
    return;
  end if;
  insert into plait.rolled (closed_to, seen_at, seen_xid) values (v_this - interval '1 day', v_now, pg_current_xact_id())
    on conflict do nothing;
  select * into r from plait.rolled;
  v_ended := pg_snapshot_xmin(pg_current_snapshot()) > r.seen_xid;
  v_to := least(case when v_ended then greatest(r.closed_to, date_trunc('minute', r.seen_at)) else r.closed_to end,
                r.closed_to + interval '1 hour');
  if v_to > r.closed_to then
    perform plait._count_minutes(r.closed_to, v_to);
  end if;
  o_more := v_ended and v_to < date_trunc('minute', r.seen_at);
  if not o_more then   -- and those that are not over, as far as is known
    perform plait._count_minutes(greatest(v_to, v_this - interval '2 minutes'), v_this + interval '1 minute');
  end if;
  update plait.rolled set closed_to = v_to, seen_at = case when v_ended and not o_more then v_now else seen_at end,
    seen_xid = case when v_ended and not o_more then pg_current_xact_id() else seen_xid end;
  delete from plait.minutes where (tenant_id, minute) in (
    select m.tenant_id, m.minute from plait.minutes m where m.minute < v_now - interval '90 days' limit 1000);
  delete from plait.audit where id in (
    select a.id from plait.audit a where a.id < plait._uuid_floor(clock_timestamp() - interval '400 days') limit 1000);  -- clock: of ids
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;

CREATE FUNCTION plait.rotate_endpoint(p_endpoint uuid, p_tenant uuid DEFAULT NULL::uuid, p_overlap interval DEFAULT '1 day'::interval) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant  uuid := plait._tenant(p_tenant);
  v_now     timestamptz := plait.now();
  v_version int;
begin
  if p_overlap is null or p_overlap not between interval '0' and interval '30 days' then
    raise exception 'an overlap of keys is at most 30 days' using errcode = 'PL012';
  end if;
  update plait.endpoints set key_version = key_version + 1, old_key_until = v_now + p_overlap, updated_at = v_now
    where id = p_endpoint and tenant_id = v_tenant returning key_version into v_version;
  if not found then
    raise exception 'there is no endpoint %', p_endpoint using errcode = 'PL008';
  end if;
  return v_version;
end $$;

CREATE FUNCTION plait.save_steps(p_worker integer, p_jobs uuid[], p_attempts integer[], p_names text[], p_occurrences integer[], p_seqs integer[], p_kinds text[], p_overlapping boolean[], p_hashes text[] DEFAULT NULL::text[], p_values text[] DEFAULT NULL::text[], p_errors text[] DEFAULT NULL::text[]) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid;
  v_stale  int[];
begin
  if cardinality(p_jobs) = 1 then
    select l.tenant_id into v_tenant from plait.live l
      where l.job_id = p_jobs[1] and l.attempt = p_attempts[1] and l.worker = p_worker
        and (l.lane not in ('leader', 'suspect:leader') or plait._led(p_worker, l.run_at, false)) for share;
    if not found then
      return array[1];
    end if;
    insert into plait.steps (job_id, tenant_id, at, seq, occurrence, attempt, overlapping, name, kind, hash, value, error)
    values (p_jobs[1], v_tenant, v_now, p_seqs[1], p_occurrences[1], p_attempts[1], p_overlapping[1], p_names[1], p_kinds[1],
            p_hashes[1], p_values[1]::json, p_errors[1])
    on conflict do nothing;
    return null;
  end if;
  with held as materialized (
    select l.job_id, l.attempt, l.tenant_id from plait.live l
    where l.job_id = any(p_jobs) and l.worker + 0 = p_worker and (l.lane not in ('leader', 'suspect:leader') or plait._led(p_worker, l.run_at, false))
    order by l.job_id for share
  ), x as materialized (
    select i.*, h.tenant_id
    from unnest(p_jobs, p_attempts, p_names, p_occurrences, p_seqs, p_kinds, p_overlapping, p_hashes, p_values, p_errors) with ordinality
         i(job_id, attempt, name, occurrence, seq, kind, overlapping, hash, value, error, n)
    left join held h on h.job_id = i.job_id and h.attempt = i.attempt
  ), saved as (
    insert into plait.steps (job_id, tenant_id, at, seq, occurrence, attempt, overlapping, name, kind, hash, value, error)
    select x.job_id, x.tenant_id, v_now, x.seq, x.occurrence, x.attempt, x.overlapping, x.name, x.kind, x.hash, x.value::json, x.error
    from x where x.tenant_id is not null
    on conflict do nothing
  )
  select array_agg(x.n::int) into v_stale from x where x.tenant_id is null;
  return v_stale;
end $$;

CREATE FUNCTION plait.search_jobs(p_tenant uuid DEFAULT NULL::uuid, p_all boolean DEFAULT false, p_statuses text[] DEFAULT NULL::text[], p_queue text DEFAULT NULL::text, p_definition text DEFAULT NULL::text, p_source text DEFAULT NULL::text, p_worker integer DEFAULT NULL::integer, p_correlation_id text DEFAULT NULL::text, p_parent uuid DEFAULT NULL::uuid, p_root uuid DEFAULT NULL::uuid, p_fan_out uuid DEFAULT NULL::uuid, p_has_children boolean DEFAULT NULL::boolean, p_created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_search text DEFAULT NULL::text, p_payload json DEFAULT NULL::json, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50, p_offset integer DEFAULT 0, p_scan integer DEFAULT 10000, p_error text DEFAULT NULL::text) RETURNS TABLE(job plait.job, stopped uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_tenant   uuid := plait._tenant_or_all(p_tenant, p_all);
  v_statuses plait.status[];
  v_before   uuid := coalesce(p_before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  v_after    uuid := '00000000-0000-0000-0000-000000000000';
  v_limit    int := least(greatest(p_limit, 1), 1000);
  v_scan     int := least(greatest(p_scan, 100), 100000);
  v_like     text := '%' || replace(replace(replace(p_search, '\', '\\'), '%', '\%'), '_', '\_') || '%';
  v_shift    interval := clock_timestamp() - plait.now();  -- clock: none, but in a test
  v_way      text;
  v_tree     uuid;
  v_groups   uuid[];
  v_stop     uuid;
  v_n        int;
  v_key      text;
  v_value    text;
  v_from     uuid;
begin
  begin
    v_statuses := p_statuses::plait.status[];
  exception when invalid_text_representation then
    raise exception 'a status is one of %', array_to_string(enum_range(null::plait.status), ', ') using errcode = 'PL001';
  end;
  if p_error is not null and v_statuses is null then
    v_statuses := '{failed,dead_letter}';
  end if;
  -- An id may be a day away from its row's time, and is made by the physical clock.
  if p_created_before is not null then
    v_before := least(v_before, plait._uuid_floor(greatest(p_created_before + v_shift + interval '1 day', 'epoch')));
  end if;
  if p_created_after is not null then
    v_after := plait._uuid_floor(greatest(p_created_after + v_shift - interval '1 day', 'epoch'));
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
                     when p_parent is not null then array(select f.id from plait.fan_outs f where f.parent_id = p_parent) end;
    -- `offset 0`: by the tree's own index, not down all ids until enough are found.
    select s.id into v_stop from (
      select j.id from plait.jobs j where j.root_id = v_tree and (v_groups is null or j.fan_out_id = any(v_groups)) offset 0) s
      where s.id < v_before and s.id > v_after order by s.id desc offset v_scan limit 1;
  elsif p_correlation_id is not null and v_tenant is not null then
    v_way := 'correlation';
  elsif v_from < v_before then
    v_way := 'value';
    select s.job_id into v_stop from plait.search_values s
      where s.tenant_id = v_tenant and s.definition = p_definition and s.key = v_key and s.value = v_value
        and s.job_id < v_before and s.job_id >= greatest(v_after, v_from) order by s.job_id desc offset v_scan / 5 limit 1;
    if v_stop is null and exists (
         select from plait.jobs j where j.tenant_id = v_tenant and j.id >= v_after and j.id < v_from limit 1) then
      v_stop := v_from;
    end if;
  elsif v_statuses <@ '{scheduled,queued,running,waiting}' then
    v_way := 'live';
    if v_statuses <> '{running}' then
      select l.job_id into v_stop from plait.live l where l.job_id < v_before and l.job_id > v_after
        order by l.job_id desc offset v_scan limit 1;
    end if;
  elsif v_statuses <@ '{failed,dead_letter}' and v_tenant is not null then
    v_way := 'failed';
    select a.job_id into v_stop from plait.attempts a where a.final in ('failed', 'dead_letter') and a.tenant_id = v_tenant
      and a.job_id < v_before and a.job_id > v_after order by a.job_id desc offset v_scan / 5 limit 1;
  elsif v_statuses <@ '{canceled,skipped}' and v_tenant is not null then
    v_way := 'canceled';
    select a.job_id into v_stop from plait.attempts a where a.final in ('canceled', 'skipped') and a.tenant_id = v_tenant
      and a.job_id < v_before and a.job_id > v_after order by a.job_id desc offset v_scan / 5 limit 1;
  else
    v_way := 'newest';
    v_scan := v_scan / case when v_statuses is not null or p_worker is not null or p_has_children is not null then 10
                            when p_payload is not null then 4 else 1 end;
    if v_tenant is null then
      select j.id into v_stop from plait.jobs j where j.id < v_before and j.id > v_after order by j.id desc offset v_scan limit 1;
    else
      select j.id into v_stop from plait.jobs j where j.tenant_id = v_tenant and j.id < v_before and j.id > v_after
        order by j.id desc offset v_scan limit 1;
    end if;
  end if;
  v_stop := greatest(v_stop, v_after);   -- the row where the look ended is looked at too

  return query
    with candidates as (
      select s.id from (
        select j.id from plait.jobs j where v_way = 'tree' and j.root_id = v_tree and (v_groups is null or j.fan_out_id = any(v_groups))
          and (v_tenant is null or j.tenant_id = v_tenant) offset 0) s
        where s.id < v_before and s.id >= coalesce(v_stop, v_after)
      union all
      select j.id from plait.jobs j where v_way = 'correlation' and j.tenant_id = v_tenant and j.correlation_id = p_correlation_id
        and j.id < v_before and j.id > v_after
      union all
      select s.job_id from plait.search_values s where v_way = 'value' and s.tenant_id = v_tenant and s.definition = p_definition
        and s.key = v_key and s.value = v_value and s.job_id < v_before and s.job_id >= coalesce(v_stop, v_after)
      union all
      select l.job_id from plait.live l where v_way = 'live' and v_statuses <> '{running}' and (v_tenant is null or l.tenant_id = v_tenant)
        and l.state = any(v_statuses) and l.job_id < v_before and l.job_id >= coalesce(v_stop, v_after)
      union all
      select l.job_id from plait.live l where v_way = 'live' and v_statuses = '{running}' and l.state = 'running'
        and (v_tenant is null or l.tenant_id = v_tenant) and l.job_id < v_before and l.job_id > v_after
      union all
      select distinct a.job_id from plait.attempts a where v_way = 'failed' and a.final in ('failed', 'dead_letter')
        and a.tenant_id = v_tenant and a.job_id < v_before and a.job_id >= coalesce(v_stop, v_after)
      union all
      select distinct a.job_id from plait.attempts a where v_way = 'canceled' and a.final in ('canceled', 'skipped')
        and a.tenant_id = v_tenant and a.job_id < v_before and a.job_id >= coalesce(v_stop, v_after)
      union all
      select j.id from plait.jobs j where v_way = 'newest' and v_tenant is not null and j.tenant_id = v_tenant
        and j.id < v_before and j.id >= coalesce(v_stop, v_after)
      union all
      select j.id from plait.jobs j where v_way = 'newest' and v_tenant is null and j.id < v_before and j.id >= coalesce(v_stop, v_after)
    ), matching as (
      select c.id from (select id from candidates order by id desc) c join plait.jobs j on j.id = c.id
      left join plait.live l on l.job_id = c.id
      left join lateral (select t.final, t.worker, t.error from plait.attempts t where t.job_id = c.id order by t.attempt desc limit 1) a on true
      where (p_queue is null or j.queue = p_queue) and (p_definition is null or j.definition = p_definition)
        and (p_source is null or j.source = p_source) and (p_correlation_id is null or j.correlation_id = p_correlation_id)
        and (p_parent is null or j.parent_id = p_parent) and (p_fan_out is null or j.fan_out_id = p_fan_out)
        and (p_created_after is null or j.created_at >= p_created_after) and (p_created_before is null or j.created_at < p_created_before)
        and (p_search is null or j.definition ilike v_like or j.correlation_id ilike v_like or j.dedupe_key ilike v_like
             or j.id::text = lower(p_search))
        and (p_payload is null or plait._has_keys(j.payload, p_payload))
        and (p_error is null or plait._fingerprint(a.error) = p_error)
        and (p_has_children is null or exists (
          select from plait.fan_outs f where f.parent_id = j.id and f.total > 0 and f.strategy <> 'after') = p_has_children)
        and (p_worker is null or coalesce(l.worker, a.worker) = p_worker)
        and (v_statuses is null or coalesce(l.state, a.final) = any(v_statuses))
      order by c.id desc limit v_limit offset least(greatest(p_offset, 0), 10000)
    )
    select (select w from plait.job w where w.id = m.id), null::uuid from matching m order by m.id desc;
  get diagnostics v_n = row_count;
  if v_n < v_limit and v_way = 'value' and v_stop = v_from and coalesce(p_offset, 0) = 0 then
    return query select l.job, l.stopped from plait.search_jobs(
      p_tenant, p_all, p_statuses, p_queue, p_definition, p_source, p_worker, p_correlation_id, p_parent, p_root, p_fan_out, p_has_children,
      p_created_after, p_created_before, p_search, p_payload, v_from, v_limit - v_n, 0, p_scan) l;
  elsif v_n < v_limit and v_stop > v_after then
    return query select null::plait.job, v_stop;
  end if;
end $$;

CREATE FUNCTION plait.set_connector(p_type text, p_settings json, p_tenant uuid DEFAULT NULL::uuid, p_by text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  perform plait._require_read_committed();
  if p_settings is null then
    delete from plait.connectors where tenant_id = v_tenant and type = p_type;
    return;
  end if;
  insert into plait.connectors (tenant_id, type, settings, updated_at, updated_by)
  values (v_tenant, p_type, p_settings, plait.now(), coalesce(p_by, session_user))
  on conflict (tenant_id, type) do update set settings = excluded.settings, updated_at = excluded.updated_at, updated_by = excluded.updated_by;
exception
when foreign_key_violation then
  raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
when check_violation or not_null_violation then
  raise exception 'a connector is http, webhook or report, and its settings are a JSON object of at most 16 KiB' using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.set_definition(p_name text, p_settings json, p_unchanged_since timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
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
  if r.updated_at <> p_unchanged_since then
    raise exception 'the definition was changed meanwhile: read it again' using errcode = 'PL014';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('active', 'queue', 'priority', 'max_attempts', 'timeout_s', 'backoff_base_s', 'backoff_factor', 'backoff_max_s',
                    'backoff_jitter', 'max_running', 'rate_count', 'rate_period_s', 'key_max_running', 'key_rate_count', 'key_rate_period_s',
                    'child_mode', 'on_child_failure', 'allow_nested', 'cancel_on_parent_failure', 'schema', 'description',
                    'quorum', 'quorum_timeout_s', 'on_timeout', 'on_node_failure', 'search_keys');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := plait.now();
  perform plait._write_definition(r);
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.set_endpoint(p_label text, p_settings json, p_tenant uuid DEFAULT NULL::uuid, p_unchanged_since timestamp with time zone DEFAULT NULL::timestamp with time zone, p_new boolean DEFAULT false) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_now    timestamptz := plait.now();
  v_bad    text;
  v_there  boolean;
  o        plait.endpoints;
  r        plait.endpoints;
begin
  perform plait._require_read_committed();
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('url', 'enabled', 'signature', 'statuses', 'definitions', 'created_by');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('plait.endpoints ' || v_tenant, 0));
  select * into o from plait.endpoints where tenant_id = v_tenant and label = p_label;
  v_there := found;
  if v_there and (p_new or o.updated_at <> p_unchanged_since) then
    raise exception '%', case when p_new then 'there is an endpoint of this label' else 'the endpoint was changed meanwhile: read it again' end
      using errcode = 'PL014';
  end if;
  if v_there then
    r := o;
  else
    if (select count(*) from plait.endpoints where tenant_id = v_tenant) >= 100 then
      raise exception 'a tenant may have 100 endpoints, and has them' using errcode = 'PL005';
    end if;
    r.id := plait.uuidv7(); r.tenant_id := v_tenant; r.label := p_label; r.created_at := v_now; r.created_by := session_user;
    r.key_version := 1; r.enabled := true; r.signature := 'standard'; r.statuses := '{}';
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := v_now;
  r.disabled_at := case when r.enabled then null else coalesce(o.disabled_at, v_now) end;
  r.disabled_reason := case when r.enabled then null else coalesce(o.disabled_reason, 'by hand') end;
  if r.enabled and cardinality(r.statuses) > 0 then
    if o.subscribed_at is null or (r.statuses, r.definitions) is distinct from (o.statuses, o.definitions) then
      r.subscribed_at := v_now;
    end if;
  else
    r.subscribed_at := null;
  end if;
  if v_there then
    update plait.endpoints set updated_at = r.updated_at, subscribed_at = r.subscribed_at, disabled_at = r.disabled_at, enabled = r.enabled,
      url = r.url, signature = r.signature, disabled_reason = r.disabled_reason, created_by = r.created_by, statuses = r.statuses,
      definitions = r.definitions where id = r.id;
  else
    insert into plait.endpoints select r.*;
  end if;
  return r.id;
exception when check_violation then
  get stacked diagnostics v_bad = constraint_name;
  raise exception 'an invalid endpoint: %', case v_bad
    when 'endpoints_label_check' then 'a label is 1 to 200 printable characters'
    when 'endpoints_url_check' then 'a URL begins with https://, has no white space and at most 2,000 characters'
    when 'endpoints_signature_check' then 'a signature is standard, sha256 or sha512'
    when 'endpoints_statuses' then 'an outcome is succeeded, failed, dead_letter, canceled or skipped'
    when 'endpoints_definitions' then 'definitions are 1 to 100 names, or none are given'
    else sqlerrm end using errcode = 'PL012';
when integrity_constraint_violation or data_exception then
  raise exception 'an invalid endpoint: %', sqlerrm using errcode = 'PL012';
end $$;

CREATE FUNCTION plait.set_queue(p_name text, p_settings json) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $_$
declare
  r     plait.queues;
  v_was boolean;
  v_bad text;
begin
  perform plait._require_read_committed();
  if p_name is null or p_name !~ '^[A-Za-z0-9_.:-]{1,100}$' then
    raise exception 'a queue''s name is 1 to 100 letters, digits and _ . : -' using errcode = 'PL012';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k where k not in ('paused', 'max_running', 'rate_count', 'rate_period_s', 'serial');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('plait.queue ' || p_name, 0));
  select * into r from plait.queues where name = p_name;
  if not found then
    r.name := p_name;
    r.paused := false;
    r.serial := false;
  end if;
  v_was := r.serial;
  r := json_populate_record(r, p_settings);
  if r.serial and not v_was then
    -- What has begun goes on, one tree after the other; the next root starts when the last of them is final.
    r.roots := array(select coalesce(l.root_id, l.job_id) from plait.live l where l.queue = p_name and (l.attempt > 0 or l.root_id is not null)
                     group by 1 order by min(l.run_at), 1);
  elsif not r.serial then
    r.roots := null;
  end if;
  r.updated_at := plait.now();
  insert into plait.queues select r.*
  on conflict (name) do update set paused = excluded.paused, max_running = excluded.max_running, rate_count = excluded.rate_count,
    rate_period_s = excluded.rate_period_s, updated_at = excluded.updated_at, serial = excluded.serial, roots = excluded.roots;
  if not r.paused then
    perform plait._wake(array[p_name], true);
  end if;
exception when check_violation or not_null_violation or numeric_value_out_of_range or invalid_text_representation then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $_$;

CREATE FUNCTION plait.set_tenant(p_slug text, p_settings json DEFAULT '{}'::json, p_new boolean DEFAULT false) RETURNS uuid
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
    where k not in ('name', 'time_zone', 'paused', 'weight', 'max_running', 'max_queued', 'max_triggers', 'retention');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  insert into plait.tenants (id, slug, name) values (plait.uuidv7(), p_slug, p_slug) on conflict (slug) do nothing;
  if p_new and not found then
    raise exception 'there is a tenant % already', quote_literal(p_slug) using errcode = 'PL015';
  end if;
  select * into r from plait.tenants where slug = p_slug for no key update;
  v_was := r.max_queued;
  v_zone := r.time_zone;
  r := json_populate_record(r, p_settings);
  -- Not by trying it: Postgres also takes offsets and inventions like FOO5, which nobody else knows.
  if r.time_zone <> v_zone and not exists (
       select from pg_timezone_names where name = r.time_zone and name !~ '^(posix|right)/|^(posixrules|localtime|Factory)$') then  -- clock: a name
    raise exception 'there is no time zone %', quote_literal(r.time_zone) using errcode = 'PL012';
  end if;
  if exists (select from jsonb_each(r.retention) e where e.key not in ('succeeded', 'skipped', 'canceled', 'failed', 'dead_letter')
             or e.value <> 'null' and (jsonb_typeof(e.value) <> 'number' or e.value::float8 not between 0 and 3.2e9)) then
    raise exception 'retention is seconds by final status, or null for ever' using errcode = 'PL012';
  end if;
  update plait.tenants set retention = r.retention, name = r.name, time_zone = r.time_zone, paused = r.paused, weight = r.weight, max_running = r.max_running,
    max_queued = r.max_queued, max_triggers = r.max_triggers, quota_left = null where id = r.id;
  if r.time_zone <> v_zone then   -- schedules without a zone of their own follow it, from now on
    update plait.triggers set cursor_at = plait.now(), next_at = null, error = null, revision = revision + 1
      where tenant_id = r.id and kind = 'schedule' and time_zone is null and deleted_at is null;
  end if;
  if r.max_queued is not null and v_was is null then
    update plait.live set metered = true where job_id in (   -- they count from now on
      select job_id from plait.live where tenant_id = r.id and not metered order by job_id for update skip locked);
  end if;
  return r.id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'an invalid setting: %', sqlerrm using errcode = 'PL012';
end $_$;

CREATE FUNCTION plait.set_trigger(p_label text, p_settings json, p_tenant uuid DEFAULT NULL::uuid, p_unchanged_since timestamp with time zone DEFAULT NULL::timestamp with time zone, p_new boolean DEFAULT false) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  if p_new or p_unchanged_since is not null then
    perform pg_advisory_xact_lock(hashtextextended('plait.trigger ' || v_tenant || ' ' || p_label, 0));
    if exists (select from plait.triggers t where t.tenant_id = v_tenant and t.label = p_label and t.deleted_at is null
               and (p_new or t.updated_at <> p_unchanged_since)) then
      raise exception '%', case when p_new then 'there is a trigger of this label' else 'the trigger was changed meanwhile: read it again' end
        using errcode = 'PL014';
    end if;
  end if;
  return plait._set_trigger(v_tenant, p_label, p_settings, 'api');
end $$;

CREATE FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[] DEFAULT NULL::text[], p_details text[] DEFAULT NULL::text[], p_ran_ms double precision[] DEFAULT NULL::double precision[]) RETURNS TABLE(job_id uuid, attempt integer, accepted boolean, status text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
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
  v_stale := plait._settle(p_worker, plait._moment(), p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms);
  return query
    select x.id, x.attempt, not coalesce(x.n = any(v_stale), false), v.status::text
    from unnest(p_jobs, p_attempts) with ordinality x(id, attempt, n) left join plait.job v on v.id = x.id order by x.n;
exception when data_exception or program_limit_exceeded then
  raise exception 'a result is JSON, and this is not: %', sqlerrm using errcode = 'PL001';
end $$;

CREATE FUNCTION plait.signal(p_job uuid, p_name text, p_payload json DEFAULT NULL::json, p_tenant uuid DEFAULT NULL::uuid, p_id uuid DEFAULT NULL::uuid) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_now    timestamptz := plait._moment();
  v_tenant uuid := plait._tenant(p_tenant);
  l        plait.live;
begin
  perform plait._require_read_committed();
  if p_name is null or length(p_name) not between 1 and 200 then
    raise exception 'a signal''s name is 1 to 200 characters' using errcode = 'PL001';
  end if;
  if octet_length(p_payload::text) > 1048576 then
    raise exception 'a signal''s payload is JSON of at most 1 MiB' using errcode = 'PL001';
  end if;
  select * into l from plait.live where job_id = p_job and tenant_id = v_tenant for update;
  if not found then
    if exists (select from plait.jobs where id = p_job and tenant_id = v_tenant) then
      raise exception 'job % is final: nobody waits for a signal', p_job using errcode = 'PL009';
    end if;
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  insert into plait.signals (job_id, id, tenant_id, sent_at, name, payload)
  values (p_job, coalesce(p_id, plait.uuidv7()), v_tenant, v_now, p_name, p_payload) on conflict do nothing;
  if found and l.wait_on = 'signal ' || p_name then
    update plait.live set state = 'queued', run_at = plait.now(), wait_on = null, wake_at = null where job_id = p_job;
    perform plait._wake(array[l.queue], true);
    return 'queued';
  end if;
  return l.state::text;
end $$;

CREATE FUNCTION plait.spawn(definition text, payload json DEFAULT '{}'::json, parent uuid DEFAULT NULL::uuid, sibling_of uuid DEFAULT NULL::uuid, attempt integer DEFAULT NULL::integer, tenant text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, delay interval DEFAULT NULL::interval, dedupe_key text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_id      uuid := coalesce(spawn.id, plait.uuidv7());
  v_tenant  uuid := plait._tenant(case when spawn.tenant is not null then plait.tenant_id(spawn.tenant) end);
  v_asking  uuid := coalesce(spawn.parent, spawn.sibling_of);
  v_nursery uuid := v_asking;
  j         plait.jobs;
begin
  perform plait._require_read_committed();
  if num_nonnulls(spawn.parent, spawn.sibling_of) <> 1 then
    raise exception 'a child is spawned for a parent, or as a sibling_of another' using errcode = 'PL001';
  end if;
  select * into j from plait.jobs where jobs.id = v_asking and jobs.tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', v_asking using errcode = 'PL008';
  end if;
  if exists (select from plait.jobs where jobs.id = v_id and jobs.tenant_id = v_tenant and jobs.definition = spawn.definition) then
    return v_id;  -- sent again
  end if;
  if spawn.attempt is not null then
    perform from plait.live l where l.job_id = v_asking and l.attempt = spawn.attempt and l.state = 'running' for share;
    if not found then
      raise exception 'job % does not run as attempt % any more', v_asking, spawn.attempt using errcode = 'PL009';
    end if;
  end if;
  if spawn.sibling_of is not null then
    if j.parent_id is null then
      raise exception 'job % has no parent, so it can have no siblings', v_asking using errcode = 'PL009';
    end if;
    v_nursery := j.fan_out_id;
    select * into j from plait.jobs where jobs.id = j.parent_id;
  else
    perform plait._own_nursery(j);
  end if;
  return (plait._spawn(
    j, v_nursery, array[v_id], array[spawn.definition], array[spawn.payload::text], array[spawn.queue], array[spawn.priority],
    array[spawn.max_attempts], array[extract(epoch from spawn.timeout)::float8], array[extract(epoch from spawn.delay)::float8],
    case when spawn.dedupe_key is not null then array[spawn.dedupe_key] end, array[spawn.limit_key], true))[1];
end $$;

CREATE FUNCTION plait.spawn_many(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_sibling boolean, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_max_attempts integer[] DEFAULT NULL::integer[], p_timeouts_s double precision[] DEFAULT NULL::double precision[], p_delays_s double precision[] DEFAULT NULL::double precision[], p_dedupe_keys text[] DEFAULT NULL::text[], p_limit_keys text[] DEFAULT NULL::text[], OUT o_status text, OUT o_ids uuid[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  l plait.live;
  j plait.jobs;
  p plait.jobs;
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  o_status := case when l.job_id is null then 'stale' when l.cancel_requested is not null then 'canceled' else 'ready' end;
  if o_status <> 'ready' then
    return;
  end if;
  select array(select json_array_elements_text(s.value -> 'ids')::uuid) into o_ids from plait.steps s
    where s.job_id = p_job and s.name = p_name and s.occurrence = p_occurrence;
  if found then
    return;
  end if;
  select * into j from plait.jobs where id = p_job;
  if not p_sibling then
    if p_nursery is null then
      perform plait._own_nursery(j);
    end if;
    o_ids := plait._spawn(j, coalesce(p_nursery, p_job), p_ids, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts,
                          p_timeouts_s, p_delays_s, p_dedupe_keys, p_limit_keys);
  elsif j.parent_id is null then
    raise exception 'job % has no parent, so it can have no siblings', p_job using errcode = 'PL009';
  else
    select * into p from plait.jobs where id = j.parent_id;
    o_ids := plait._spawn(p, j.fan_out_id, p_ids, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts,
                          p_timeouts_s, p_delays_s, p_dedupe_keys, p_limit_keys);
  end if;
  insert into plait.steps (job_id, tenant_id, at, seq, occurrence, attempt, overlapping, name, kind, hash, value)
  values (p_job, l.tenant_id, plait.now(), p_seq, p_occurrence, p_attempt, p_overlapping, p_name, 'spawn', p_hash,
          json_build_object('ids', o_ids, 'older', array(select n - 1 from unnest(o_ids, p_ids) with ordinality u(id, asked, n) where id <> asked)));
end $$;

CREATE FUNCTION plait.store_reply(p_tenant uuid, p_key_id uuid, p_key text, p_status integer, p_body text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
begin
  if p_status is null then
    delete from plait.replies where tenant_id = p_tenant and key_id = p_key_id and key = p_key and status is null;
  else
    update plait.replies set status = p_status, body = p_body where tenant_id = p_tenant and key_id = p_key_id and key = p_key;
  end if;
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

CREATE FUNCTION plait.suspend(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_hash text, p_kind text, p_delay_s double precision DEFAULT NULL::double precision, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone, p_signal text DEFAULT NULL::text, p_fan_out uuid DEFAULT NULL::uuid, p_ended integer DEFAULT NULL::integer, OUT o_status text, OUT o_value text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now timestamptz := plait.now();
  l     plait.live;
  s     plait.steps;
  f     plait.fan_outs;
  v_id  uuid;
begin
  perform plait._require_read_committed();
  l := plait._hold(p_worker, p_job, p_attempt);
  if l.job_id is null then
    o_status := plait._not_held(p_worker, p_job, p_attempt);
    return;
  end if;
  if l.cancel_requested is not null then
    o_status := 'canceled';
    return;
  end if;

  if p_kind in ('fan_out', 'stream', 'nursery') then
    select * into f from plait.fan_outs where id = p_fan_out for no key update;
    if not found then
      raise exception 'job % has no fan-out %', p_job, p_fan_out using errcode = 'PL008';
    end if;
    if f.strategy = 'nursery' and f.decided_at is null and f.succeeded + f.failed + f.canceled = f.total then
      perform plait._decide(f, v_now, case when f.failed + f.canceled = 0 then 'succeeded' else 'failed' end);
      select * into f from plait.fan_outs where id = p_fan_out;
    end if;
    if f.decided_at is not null or f.succeeded + f.failed + f.canceled >= p_ended then
      o_status := 'ready';
      o_value := json_build_object('decision', f.decision, 'decided_ended', f.decided_ended);
      return;
    end if;
    update plait.fan_outs set waited_for = least(coalesce(p_ended, total), total) where id = p_fan_out;
    perform plait._suspend(l, v_now, 'fan_out ' || p_fan_out, null);
    o_status := 'suspended';
    return;
  end if;
  if p_kind is null or p_kind not in ('sleep', 'signal') then
    raise exception 'a job waits for sleep, signal, fan_out, stream or nursery, not %', coalesce(quote_literal(p_kind), 'null') using errcode = 'PL001';
  end if;

  insert into plait.steps (job_id, tenant_id, at, due_at, seq, occurrence, attempt, overlapping, done, name, kind, hash)
  values (p_job, l.tenant_id, v_now, coalesce(p_until, v_now + make_interval(secs => p_delay_s)), p_seq, p_occurrence, p_attempt,
          p_overlapping, p_kind = 'sleep', p_name, p_kind, p_hash)
  on conflict do nothing;
  select * into s from plait.steps where job_id = p_job and name = p_name and occurrence = p_occurrence;
  if p_kind = 'signal' and not s.done then
    select g.id, g.payload::text into v_id, o_value from plait.signals g
      where g.job_id = p_job and g.name = p_signal and not g.consumed order by g.sent_at, g.id limit 1;
    if found then
      update plait.signals set consumed = true where job_id = p_job and id = v_id;
      update plait.steps set done = true, value = o_value::json where job_id = p_job and name = p_name and occurrence = p_occurrence;
      o_status := 'ready';
      return;
    end if;
    if s.due_at <= v_now then
      update plait.steps set done = true, error = 'timeout' where job_id = p_job and name = p_name and occurrence = p_occurrence;
      o_status := 'timeout';
      return;
    end if;
  elsif s.due_at <= v_now or p_kind = 'signal' then
    o_status := case when s.error is not null then 'timeout' else 'ready' end;
    o_value := s.value::text;
    return;
  end if;
  perform plait._suspend(l, v_now, case p_kind when 'signal' then 'signal ' || p_signal else 'sleep' end, s.due_at);
  o_status := 'suspended';
end $$;

CREATE FUNCTION plait.sweep_artifacts(p_removed uuid[] DEFAULT NULL::uuid[], p_limit integer DEFAULT 100) RETURNS TABLE(id uuid, tenant_id uuid)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  delete from plait.artifacts where id = any(p_removed) and doomed_at is not null;
  return query
    with due as materialized (
      select a.id, a.job_id from plait.artifacts a where a.expires_at <= v_now order by a.expires_at limit p_limit for update skip locked
    ), kept as (
      update plait.artifacts a set expires_at = null from due d
      where a.id = d.id and a.doomed_at is null and exists (select from plait.jobs j where j.id = d.job_id and j.tenant_id = a.tenant_id)
    )
    update plait.artifacts a set doomed_at = coalesce(a.doomed_at, v_now), expires_at = v_now + interval '1 minute' from due d
    where a.id = d.id and (a.doomed_at is not null or not exists (select from plait.jobs j where j.id = d.job_id and j.tenant_id = a.tenant_id))
    returning a.id, a.tenant_id;
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

CREATE FUNCTION plait.tenant_load(p_from timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(tenant_id uuid, scheduled bigint, queued bigint, running bigint, waiting bigint, oldest_s double precision, ended bigint, failure_rate double precision, run_s double precision, share double precision, fair_share double precision, noisy text[])
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  with live as (
    select c.tenant_id, coalesce(sum(c.jobs) filter (where c.state = 'scheduled'), 0)::bigint as scheduled,
           coalesce(sum(c.jobs) filter (where c.state = 'queued'), 0)::bigint as queued,
           coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)::bigint as running,
           coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0)::bigint as waiting,
           min(c.oldest) filter (where c.state = 'queued') as oldest
    from plait._live_counts(null) c group by 1
  ), fared as (
    select m.tenant_id, sum(m.succeeded + m.skipped + m.failed + m.dead_letter + m.retried + m.lost)::bigint as ended,
           sum(m.failed + m.dead_letter + m.retried + m.lost)::bigint as failed, sum(m.run_s) as run_s
    from plait.minutes m where m.minute >= coalesce(p_from, plait.now() - interval '1 hour') group by 1
  ), shares as (
    select t.id, coalesce(l.scheduled, 0) as scheduled, coalesce(l.queued, 0) as queued, coalesce(l.running, 0) as running,
           coalesce(l.waiting, 0) as waiting, l.oldest, coalesce(f.ended, 0) as ended, f.failed::float8 / nullif(f.ended, 0) as failure_rate,
           coalesce(f.run_s, 0) as run_s, l.running::float8 / nullif(sum(l.running) over (), 0) as share,
           case when l.queued + l.running > 0 and not t.paused then
             t.weight::float8 / sum(t.weight) filter (where l.queued + l.running > 0 and not t.paused) over () end as fair_share,
           sum(l.queued) over () - coalesce(l.queued, 0) as others
    from plait.tenants t left join live l on l.tenant_id = t.id left join fared f on f.tenant_id = t.id
  )
  select s.id, s.scheduled, s.queued, s.running, s.waiting,
         case when s.queued > 0 then greatest(0, extract(epoch from plait.now() - s.oldest))::float8 end,
         s.ended, s.failure_rate, s.run_s, s.share, s.fair_share,
         array_remove(array[
           case when s.share > 2 * s.fair_share and s.others > 0 then 'slots' end,
           case when s.queued > 1000 and s.queued > s.others and s.others > 0 then 'backlog' end,
           case when s.failure_rate > 0.5 and s.ended >= 20 then 'failures' end], null)
  from shares s
$$;

CREATE FUNCTION plait.usage(p_tenant uuid DEFAULT NULL::uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  t        plait.tenants;
begin
  select * into t from plait.tenants where id = v_tenant;
  if not found then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  o_now := plait.now();
  o_slug := t.slug;
  o_name := t.name;
  o_max_queued := t.max_queued;
  o_max_running := t.max_running;
  o_weight := t.weight;
  o_max_triggers := t.max_triggers;
  select coalesce(sum(c.jobs), 0), coalesce(sum(c.jobs) filter (where c.state = 'running'), 0) into o_live, o_running
    from plait._live_counts(v_tenant) c;
  select count(*) into o_triggers from plait.triggers where tenant_id = v_tenant and deleted_at is null;
  select count(*) into o_endpoints from plait.endpoints where tenant_id = v_tenant;
end $$;

CREATE FUNCTION plait.use_link(p_hash text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
declare v_key uuid;
begin
  delete from plait.sessions s using plait.keys k
    where s.hash = p_hash and s.link and s.role is null and s.expires_at > plait.now()
      and k.id = s.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > plait.now())
    returning s.key_id into v_key;
  return v_key;
end $$;

CREATE FUNCTION plait.uuidv7() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    RETURN (encode(set_bit(set_bit(OVERLAY(uuid_send(gen_random_uuid()) PLACING SUBSTRING(int8send(((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint) FROM 3) FROM 1 FOR 6), (52)::bigint, 1), (53)::bigint, 1), 'hex'::text))::uuid;

CREATE FUNCTION plait.worker_key(p_worker integer) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'plait', 'pg_temp'
    AS $$
  select (metadata ->> 'key')::uuid from plait.workers where id = p_worker and state = 'alive'
$$;

CREATE TABLE plait.announced (
    one boolean DEFAULT true NOT NULL,
    closed_to timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    seen_xid xid8 NOT NULL,
    CONSTRAINT announced_one_check CHECK (one)
);

CREATE TABLE plait.announcements (
    tenant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    delivery_id uuid NOT NULL
);

ALTER TABLE ONLY plait.announcements FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.artifacts (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    doomed_at timestamp with time zone,
    size bigint NOT NULL,
    kind text NOT NULL,
    sha256 text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT artifacts_kind_check CHECK ((kind = ANY (ARRAY['payload'::text, 'result'::text]))),
    CONSTRAINT artifacts_sha256_check CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT artifacts_size_check CHECK ((size > 0))
);

ALTER TABLE ONLY plait.artifacts FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.audit (
    id uuid NOT NULL,
    tenant_id uuid,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    object text,
    request_id text,
    detail json NOT NULL
);

ALTER TABLE ONLY plait.audit FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.buckets (
    name text NOT NULL COLLATE pg_catalog."C",
    tokens double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    full_at timestamp with time zone NOT NULL
);

CREATE TABLE plait.circuits (
    tenant_id uuid NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    failures integer NOT NULL,
    opened_at timestamp with time zone,
    open_until timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT circuits_origin_check CHECK ((length(origin) <= 300))
);

ALTER TABLE ONLY plait.circuits FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.connectors (
    tenant_id uuid NOT NULL,
    type text NOT NULL,
    settings json NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT connectors_settings CHECK (((json_typeof(settings) = 'object'::text) AND (octet_length((settings)::text) <= 16384))),
    CONSTRAINT connectors_type_check CHECK ((type = ANY (ARRAY['http'::text, 'webhook'::text, 'report'::text])))
);

ALTER TABLE ONLY plait.connectors FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.dedupe (
    tenant_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    job_id uuid NOT NULL
);

ALTER TABLE ONLY plait.dedupe FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.dependencies (
    on_id uuid NOT NULL,
    fan_out_id uuid NOT NULL,
    tenant_id uuid NOT NULL
);

ALTER TABLE ONLY plait.dependencies FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.depths (
    tenant_id uuid NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    state plait.status NOT NULL,
    at timestamp with time zone NOT NULL,
    jobs bigint NOT NULL,
    oldest timestamp with time zone NOT NULL
);

ALTER TABLE ONLY plait.depths FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.endpoints (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    subscribed_at timestamp with time zone,
    disabled_at timestamp with time zone,
    old_key_until timestamp with time zone,
    key_version integer DEFAULT 1 NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    label text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    signature text DEFAULT 'standard'::text NOT NULL,
    disabled_reason text,
    created_by text NOT NULL,
    statuses plait.status[] DEFAULT '{}'::plait.status[] NOT NULL,
    definitions text[],
    CONSTRAINT endpoints_definitions CHECK (((cardinality(definitions) >= 1) AND (cardinality(definitions) <= 100))),
    CONSTRAINT endpoints_label_check CHECK (((label COLLATE "default") ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'::text)),
    CONSTRAINT endpoints_signature_check CHECK ((signature = ANY (ARRAY['standard'::text, 'sha256'::text, 'sha512'::text]))),
    CONSTRAINT endpoints_statuses CHECK ((NOT (statuses && '{scheduled,queued,running,waiting}'::plait.status[]))),
    CONSTRAINT endpoints_url_check CHECK (((url ~ '^https?://[[:graph:]]+$'::text) AND (length(url) <= 2000)))
);

ALTER TABLE ONLY plait.endpoints FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.fan_out_order (
    fan_out_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    "position" integer NOT NULL,
    fan_out_index integer NOT NULL
);

ALTER TABLE ONLY plait.fan_out_order FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.fires (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    trigger_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    instant timestamp with time zone,
    event_id uuid,
    job_id uuid,
    outcome text NOT NULL,
    window_key text,
    error text,
    held json,
    CONSTRAINT fires_occasion CHECK (((instant IS NULL) <> (event_id IS NULL))),
    CONSTRAINT fires_outcome_check CHECK ((outcome = ANY (ARRAY['enqueued'::text, 'deduplicated'::text, 'skipped'::text, 'held'::text, 'refused'::text])))
);

ALTER TABLE ONLY plait.fires FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.follow_ups (
    job_id uuid NOT NULL,
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    timeout_s double precision,
    delay_s double precision,
    priority smallint NOT NULL,
    max_attempts smallint NOT NULL,
    definition text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    dedupe_key text COLLATE pg_catalog."C",
    limit_key text COLLATE pg_catalog."C",
    payload json NOT NULL
);

ALTER TABLE ONLY plait.follow_ups FORCE ROW LEVEL SECURITY;

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
    oldest integer DEFAULT 0 NOT NULL,
    CONSTRAINT installed_one_check CHECK (one)
);

CREATE TABLE plait.keys (
    id uuid NOT NULL,
    tenant_id uuid,
    hash text NOT NULL COLLATE pg_catalog."C",
    hint text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT keys_hint_check CHECK ((length(hint) <= 20)),
    CONSTRAINT keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT keys_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text, 'super-admin'::text, 'worker'::text]))),
    CONSTRAINT keys_tenant CHECK (((tenant_id IS NULL) = (role = ANY (ARRAY['super-admin'::text, 'worker'::text]))))
);

ALTER TABLE ONLY plait.keys FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.leader (
    name text NOT NULL,
    holder text NOT NULL,
    term bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    since timestamp with time zone DEFAULT plait.now() NOT NULL
);

CREATE TABLE plait.logins (
    login name NOT NULL,
    tenant_id uuid NOT NULL
);

ALTER TABLE ONLY plait.logins FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.minutes (
    tenant_id uuid NOT NULL,
    minute timestamp with time zone NOT NULL,
    enqueued integer DEFAULT 0 NOT NULL,
    succeeded integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    dead_letter integer DEFAULT 0 NOT NULL,
    canceled integer DEFAULT 0 NOT NULL,
    skipped integer DEFAULT 0 NOT NULL,
    retried integer DEFAULT 0 NOT NULL,
    lost integer DEFAULT 0 NOT NULL,
    run_s double precision DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY plait.minutes FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.nodes (
    name text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'active'::text NOT NULL,
    joined_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    url text,
    labels jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT nodes_labels_check CHECK ((jsonb_typeof(labels) = 'object'::text)),
    CONSTRAINT nodes_name_check CHECK ((name ~ '^[A-Za-z0-9_.:-]{1,100}$'::text)),
    CONSTRAINT nodes_state_check CHECK ((state = ANY (ARRAY['active'::text, 'draining'::text, 'lost'::text, 'left'::text]))),
    CONSTRAINT nodes_url_check CHECK (((length(url) >= 1) AND (length(url) <= 500)))
);

CREATE TABLE plait.queues (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    max_running integer,
    rate_count integer,
    rate_period_s double precision,
    updated_at timestamp with time zone DEFAULT plait.now() NOT NULL,
    serial boolean DEFAULT false NOT NULL,
    roots uuid[],
    CONSTRAINT queues_check CHECK (((rate_count IS NULL) = (rate_period_s IS NULL))),
    CONSTRAINT queues_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT queues_rate_count_check CHECK ((rate_count >= 1)),
    CONSTRAINT queues_rate_period_s_check CHECK (((rate_period_s > (0)::double precision) AND (rate_period_s <= ('3200000000'::numeric)::double precision)))
);

CREATE TABLE plait.replies (
    tenant_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL,
    at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    status smallint,
    body text,
    CONSTRAINT replies_key_check CHECK (((length(key) >= 1) AND (length(key) <= 500)))
);

ALTER TABLE ONLY plait.replies FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.rolled (
    one boolean DEFAULT true NOT NULL,
    closed_to timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    seen_xid xid8 NOT NULL,
    CONSTRAINT rolled_one_check CHECK (one)
);

CREATE TABLE plait.search_values (
    tenant_id uuid NOT NULL,
    definition text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    job_id uuid NOT NULL
);

ALTER TABLE ONLY plait.search_values FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.sessions (
    hash text NOT NULL COLLATE pg_catalog."C",
    key_id uuid NOT NULL,
    link boolean NOT NULL,
    csrf text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    role text,
    CONSTRAINT sessions_role CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text])))
);

CREATE TABLE plait.signals (
    job_id uuid NOT NULL,
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    consumed boolean DEFAULT false NOT NULL,
    payload json,
    CONSTRAINT signals_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

ALTER TABLE ONLY plait.signals FORCE ROW LEVEL SECURITY;

CREATE TABLE plait.steps (
    job_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    fan_out_id uuid,
    at timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    seq integer NOT NULL,
    occurrence integer NOT NULL,
    attempt integer NOT NULL,
    overlapping boolean DEFAULT false NOT NULL,
    done boolean DEFAULT true NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    hash text,
    value json,
    error text,
    CONSTRAINT steps_kind_check CHECK ((kind = ANY (ARRAY['call'::text, 'transaction'::text, 'version'::text, 'fan_out'::text, 'stream'::text, 'sleep'::text, 'signal'::text, 'spawn'::text, 'nursery'::text, 'after'::text])))
);

ALTER TABLE ONLY plait.steps FORCE ROW LEVEL SECURITY;

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
    max_triggers integer DEFAULT 1000,
    retention jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT tenants_max_queued_check CHECK ((max_queued >= 0)),
    CONSTRAINT tenants_max_running_check CHECK ((max_running >= 0)),
    CONSTRAINT tenants_max_triggers_check CHECK ((max_triggers >= 0)),
    CONSTRAINT tenants_name_check CHECK ((name <> ''::text)),
    CONSTRAINT tenants_retention_check CHECK ((jsonb_typeof(retention) = 'object'::text)),
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
    node text COLLATE pg_catalog."C",
    holder text,
    draining boolean DEFAULT false NOT NULL,
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

INSERT INTO plait.announced (one, closed_to, seen_at, seen_xid) VALUES (true, '2026-11-16 03:10:33.881823+00', '2026-11-16 03:10:34.031252+00', '1093');

INSERT INTO plait.announcements (tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c39a-79ba-a5f9-6a7a940fd767', '01a1e255-c3a0-7183-96ae-6321211b03b0', 1, '2026-11-16 03:10:33.909676+00', '01a1e255-c431-71e7-992a-da1033f859db');
INSERT INTO plait.announcements (tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c39a-79ba-a5f9-6a7a940fd767', '01a1e255-c3e1-7440-969c-16db4282ed67', 1, '2026-11-16 03:10:33.958701+00', '01a1e255-c431-7fb4-90ab-5d64de098334');

INSERT INTO plait.artifacts (id, tenant_id, job_id, created_at, expires_at, doomed_at, size, kind, sha256) VALUES ('01a1e255-c3f3-744f-9bf1-9138e6f689df', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c3f1-7718-8c20-78fa3b5744dc', '2026-11-16 03:10:33.970695+00', '2026-11-17 03:10:33.970695+00', NULL, 2000000, 'payload', '0000000000000000000000000000000000000000000000000000000000000000');

INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3a0-7183-96ae-6321211b03b0', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.9034+00', '2026-11-16 03:10:33.9034+00', '2026-11-16 03:10:33.909676+00', 1, 1, 'succeeded', 'succeeded', NULL, NULL, NULL, NULL, NULL, '{"n": 1}', '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3b9-7688-91b3-ee8ec788a307', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.916675+00', '2026-11-16 03:10:33.916675+00', '2026-11-16 03:10:33.918116+00', 1, 1, 'failed', 'failed', NULL, 2, 'permanent', 'no such file', NULL, NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3c2-7417-9957-bc02c7334b98', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.925232+00', '2026-11-16 03:10:33.925232+00', '2026-11-16 03:10:33.926489+00', 1, 1, 'failed', 'dead_letter', NULL, NULL, 'attempts_exhausted', 'again and again', '…', NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3c7-736c-98ed-287a66a55dc2', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.929677+00', '2026-11-16 03:10:33.929677+00', '2026-11-16 03:10:33.930991+00', 1, 1, 'skipped', 'skipped', NULL, NULL, 'nothing_to_do', NULL, NULL, NULL, '{"done": 0.5}');
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3cb-7017-bba3-603865a3a1d4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', NULL, NULL, '2026-11-16 03:10:33.93436+00', 1, NULL, 'canceled', 'canceled', NULL, NULL, 'canceled', 'not wanted', NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.946855+00', '2026-11-16 03:10:33.946855+00', '2026-11-16 03:10:33.95397+00', 1, 1, 'suspended', NULL, NULL, NULL, 'fan_out 01a1e255-c3e1-7440-969c-16da0d9dd76d', NULL, NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3e1-7440-969c-16db4282ed67', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.957697+00', '2026-11-16 03:10:33.957697+00', '2026-11-16 03:10:33.958701+00', 1, 1, 'succeeded', 'succeeded', NULL, NULL, NULL, NULL, NULL, '1', NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3e1-7440-969c-16dcce5a643c', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.964244+00', '2026-11-16 03:10:33.964244+00', '2026-11-16 03:10:33.965331+00', 1, 1, 'failed', NULL, NULL, NULL, NULL, 'try again', NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3f3-76e7-bf4a-f618eeb847f4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', NULL, NULL, '2026-11-16 03:10:33.972947+00', 1, NULL, 'canceled', 'canceled', NULL, NULL, 'canceled', NULL, NULL, NULL, NULL);
INSERT INTO plait.attempts (job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final, pid, exit_code, reason, error, traceback, result, progress) VALUES ('01a1e255-c3f3-76e7-bf4a-f618eeb847f4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', NULL, NULL, '2026-11-16 03:10:33.974232+00', 2, NULL, 'released', NULL, NULL, NULL, 'retried', NULL, NULL, NULL, NULL);

INSERT INTO plait.audit (id, tenant_id, at, actor, action, object, request_id, detail) VALUES ('01a1e255-c42a-7ac3-ab2d-f50afd0747c6', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.02642+00', 'key 01a1e255-c427-7884-9f77-961174b3c13f', 'queue.pause', 'slow', '1', '{}');

INSERT INTO plait.buckets (name, tokens, at, full_at) VALUES ('definition limited', 9, '2026-11-16 03:10:33.940268+00', '2026-11-16 03:10:39.940268+00');

INSERT INTO plait.circuits (tenant_id, origin, failures, opened_at, open_until, updated_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'https://crm.example', 1, NULL, NULL, '2026-11-16 03:10:34.029859+00');

INSERT INTO plait.connectors (tenant_id, type, settings, updated_at, updated_by) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'http', '{"timeout_s": 5}', '2026-11-16 03:10:34.028975+00', 'cli');

INSERT INTO plait.dedupe (tenant_id, key, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'running', '01a1e255-c3cf-726b-866c-6a3c07babcf7');
INSERT INTO plait.dedupe (tenant_id, key, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'queued', '01a1e255-c3ee-763c-b0aa-4d2f919882b2');

INSERT INTO plait.definitions (name, kind, active, queue, priority, max_attempts, timeout_s, backoff_base_s, backoff_factor, backoff_max_s, backoff_jitter, max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s, updated_at, child_mode, on_child_failure, allow_nested, cancel_on_parent_failure, schema, description, on_node, on_leader, quorum, quorum_timeout_s, on_timeout, on_node_failure, search_keys, search_from) VALUES ('limited', 'function', true, 'default', 100, 5, 3600, 1, 2, 3600, 0.2, 2, 10, 60, 1, NULL, NULL, '2026-11-16 03:10:33.87733+00', 'concurrent', 'continue', true, false, NULL, '', NULL, false, 'majority', 10, 'proceed', 'fail', NULL, NULL);
INSERT INTO plait.definitions (name, kind, active, queue, priority, max_attempts, timeout_s, backoff_base_s, backoff_factor, backoff_max_s, backoff_jitter, max_running, rate_count, rate_period_s, key_max_running, key_rate_count, key_rate_period_s, updated_at, child_mode, on_child_failure, allow_nested, cancel_on_parent_failure, schema, description, on_node, on_leader, quorum, quorum_timeout_s, on_timeout, on_node_failure, search_keys, search_from) VALUES ('work', 'function', true, 'default', 100, 3, 3600, 1, 2, 3600, 0.2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-16 03:10:33.877331+00', 'concurrent', 'continue', true, false, NULL, '', NULL, false, 'majority', 10, 'proceed', 'fail', '{path}', '01a1e255-c780-7000-8000-000000000000');

INSERT INTO plait.dependencies (on_id, fan_out_id, tenant_id) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c412-7b70-8831-671353d23d26', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc');

INSERT INTO plait.depths (tenant_id, queue, state, at, jobs, oldest) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'default', 'waiting', '2026-11-16 03:10:34.038188+00', 1, '2026-11-16 03:10:33.995334+00');
INSERT INTO plait.depths (tenant_id, queue, state, at, jobs, oldest) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'default', 'queued', '2026-11-16 03:10:34.038188+00', 10, '2026-11-16 03:10:33.960615+00');
INSERT INTO plait.depths (tenant_id, queue, state, at, jobs, oldest) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'default', 'scheduled', '2026-11-16 03:10:34.038188+00', 2, '2026-11-16 04:10:33.961806+00');
INSERT INTO plait.depths (tenant_id, queue, state, at, jobs, oldest) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'default', 'running', '2026-11-16 03:10:34.038188+00', 2, '2026-11-16 03:10:33.938068+00');

INSERT INTO plait.endpoints (id, tenant_id, created_at, updated_at, subscribed_at, disabled_at, old_key_until, key_version, enabled, label, url, signature, disabled_reason, created_by, statuses, definitions) VALUES ('01a1e255-c39a-79ba-a5f9-6a7a940fd767', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.881823+00', '2026-11-16 03:10:33.881823+00', '2026-11-16 03:10:33.881823+00', NULL, NULL, 1, true, 'crm', 'https://crm.example/hook', 'standard', NULL, 'plait_dev', '{succeeded}', NULL);

INSERT INTO plait.events (id, tenant_id, at, dispatched_at, jobs, name, correlation_id, error, data) VALUES ('01a1e255-c41b-7dd1-be74-88c33500f90c', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.01117+00', '2026-11-16 03:10:34.014957+00', 1, 'folder.updated', NULL, NULL, '{"path": "a"}');

INSERT INTO plait.fan_out_order (fan_out_id, tenant_id, "position", fan_out_index) VALUES ('01a1e255-c3e1-7440-969c-16da0d9dd76d', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 1, 0);

INSERT INTO plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, timeout_at, decided_at, timeout_s, depth, total, needed, succeeded, failed, canceled, waited_for, decided_ended, early, streamed, nested, cancel_remaining, cancel_on_parent_failure, cancel_due, strategy, decision, left_open, serial, stop, turn, parent_final, on_timeout, on_node_failure, rule) VALUES ('01a1e255-c3e1-7440-969c-16da0d9dd76d', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '2026-11-16 03:10:33.95397+00', NULL, NULL, NULL, 1, 2, 0, 1, 0, 0, NULL, NULL, false, true, true, true, true, false, 'collect_all', NULL, NULL, false, false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, timeout_at, decided_at, timeout_s, depth, total, needed, succeeded, failed, canceled, waited_for, decided_ended, early, streamed, nested, cancel_remaining, cancel_on_parent_failure, cancel_due, strategy, decision, left_open, serial, stop, turn, parent_final, on_timeout, on_node_failure, rule) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c3cf-726b-866c-6a3c07babcf7', '2026-11-16 03:10:33.984823+00', NULL, NULL, NULL, 1, 1, 0, 0, 0, 0, NULL, NULL, false, false, true, false, false, false, 'nursery', NULL, NULL, false, false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.fan_outs (id, tenant_id, parent_id, root_id, created_at, timeout_at, decided_at, timeout_s, depth, total, needed, succeeded, failed, canceled, waited_for, decided_ended, early, streamed, nested, cancel_remaining, cancel_on_parent_failure, cancel_due, strategy, decision, left_open, serial, stop, turn, parent_final, on_timeout, on_node_failure, rule) VALUES ('01a1e255-c412-7b70-8831-671353d23d26', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c40b-7f88-bb8a-67adb59644db', '01a1e255-c40b-7f88-bb8a-67adb59644db', '2026-11-16 03:10:33.995334+00', NULL, NULL, NULL, -1, 1, 1, 0, 0, 0, 1, NULL, false, false, true, false, false, false, 'after', NULL, NULL, false, false, NULL, NULL, NULL, NULL, NULL);

INSERT INTO plait.fires (id, tenant_id, trigger_id, at, instant, event_id, job_id, outcome, window_key, error, held) VALUES ('01a1e255-c420-7454-988e-0e11c4f1521a', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c419-7c2b-8e65-039800452e68', '2026-11-16 03:10:34.014957+00', NULL, '01a1e255-c41b-7dd1-be74-88c33500f90c', '01a1e255-c420-78ad-a8ac-675cccee27ce', 'enqueued', 'c26496f6a33bde876a27c0bf54c52818', NULL, NULL);

INSERT INTO plait.follow_ups (job_id, id, tenant_id, timeout_s, delay_s, priority, max_attempts, definition, queue, dedupe_key, limit_key, payload) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c409-7afc-8a95-e5eb35c073d2', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', NULL, NULL, 100, 3, 'work', 'default', NULL, NULL, '{}');

INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'succeeded key', '01a1e255-c3a0-7183-96ae-6321211b03b0', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'failed key', '01a1e255-c3b9-7688-91b3-ee8ec788a307', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'dead_letter key', '01a1e255-c3c2-7417-9957-bc02c7334b98', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'skipped key', '01a1e255-c3c7-736c-98ed-287a66a55dc2', '9104d655f84767d76fc5450d3586d4bf', NULL);
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'running', '01a1e255-c3cf-726b-866c-6a3c07babcf7', '9104d655f84767d76fc5450d3586d4bf', '2026-11-16 04:10:33.935441+00');
INSERT INTO plait.idempotency (tenant_id, definition, key, job_id, payload_hash, expires_at) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'queued', '01a1e255-c3ee-763c-b0aa-4d2f919882b2', '9104d655f84767d76fc5450d3586d4bf', NULL);

INSERT INTO plait.installed (one, version, functions_hash, updated_at, oldest) VALUES (true, 5, '35c886095ac126b8a35ca39e12e8f8c2d92ed5910447b252b5d34278bc702c26', '2026-11-16 03:10:33.737242+00', 3);

INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3a0-7183-96ae-6321211b03b0', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.895287+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'succeeded', 'succeeded once', 'succeeded key', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3b9-7688-91b3-ee8ec788a307', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.913581+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'failed', 'failed once', 'failed key', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3c2-7417-9957-bc02c7334b98', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.922762+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'dead_letter', 'dead_letter once', 'dead_letter key', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3c7-736c-98ed-287a66a55dc2', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.927307+00', NULL, NULL, 100, 1, 'work', 'default', 'manual', 'skipped', 'skipped once', 'skipped key', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3cb-7017-bba3-603865a3a1d4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.93182+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'canceled', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.935441+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'running', 'running', 'running', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3d3-76ac-92e6-000193603fc3', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.939224+00', NULL, NULL, 100, 5, 'limited', 'default', 'manual', 'running', NULL, NULL, 'one', '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3e9-77b7-9de8-981e294e5d17', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.961806+00', '2026-11-16 04:10:33.961806+00', 5, 7, 3, 'work', 'default', 'manual', 'scheduled', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3ee-763c-b0aa-4d2f919882b2', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.966636+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', 'queued', 'queued', NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3f0-736b-a24b-dae3d99d7bbf', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.968149+00', NULL, NULL, 100, 5, 'limited', 'default', 'manual', 'queued', NULL, NULL, 'one', '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3f1-7718-8c20-78fa3b5744dc', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.969292+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3f3-76e7-bf4a-f618eeb847f4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.971819+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3fe-7665-8502-e014a6b4214e', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.989406+00', NULL, NULL, 100, 3, 'work', 'default', 'system', 'queued', NULL, NULL, NULL, '{}', '01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c3cf-726b-866c-6a3c07babcf7', 0, 1, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c40b-7f88-bb8a-67adb59644db', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.995334+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'waiting', NULL, NULL, NULL, '{}', NULL, NULL, NULL, NULL, NULL, NULL, '{01a1e255-c3cf-726b-866c-6a3c07babcf7}', NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c420-78ad-a8ac-675cccee27ce', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.01713+00', NULL, NULL, 100, 3, 'work', 'default', 'event', 'queued', NULL, NULL, NULL, '{"path":"a"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '01a1e255-c41b-7dd1-be74-88c33500f90c', NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3e1-7440-969c-16db4282ed67', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.95397+00', NULL, NULL, 100, 3, 'work', 'default', 'system', 'succeeded', NULL, NULL, NULL, '{}', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3e1-7440-969c-16da0d9dd76d', 0, 1, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3eb-729a-9fb6-681a3aa296c5', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.963175+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c431-71e7-992a-da1033f859db', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.031926+00', NULL, NULL, 100, 5, 'connector.webhook.deliver', 'default', 'system', 'queued', NULL, NULL, NULL, '{"endpoint" : "01a1e255-c39a-79ba-a5f9-6a7a940fd767", "type" : "job.succeeded", "timestamp" : "2026-11-16T03:10:33.909676+00:00", "data" : {"job_id" : "01a1e255-c3a0-7183-96ae-6321211b03b0", "definition" : "work", "queue" : "default", "status" : "succeeded", "attempt" : 1, "reason" : null, "error" : null, "correlation_id" : "succeeded", "created_at" : "2026-11-16T03:10:33.895287+00:00", "finished_at" : "2026-11-16T03:10:33.909676+00:00"}}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '01a1e255-c3a0-7183-96ae-6321211b03b0', NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3e1-7440-969c-16dcce5a643c', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.95397+00', NULL, NULL, 100, 3, 'work', 'default', 'system', 'scheduled', NULL, NULL, NULL, '{}', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3e1-7440-969c-16da0d9dd76d', 1, 1, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.94546+00', NULL, NULL, 100, 3, 'work', 'default', 'manual', 'queued', NULL, NULL, NULL, '{"path": "a.png", "width": 200}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload, parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, source_ref, node) VALUES ('01a1e255-c431-7fb4-90ab-5d64de098334', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.031926+00', NULL, NULL, 100, 5, 'connector.webhook.deliver', 'default', 'system', 'queued', NULL, NULL, NULL, '{"endpoint" : "01a1e255-c39a-79ba-a5f9-6a7a940fd767", "type" : "job.succeeded", "timestamp" : "2026-11-16T03:10:33.958701+00:00", "data" : {"job_id" : "01a1e255-c3e1-7440-969c-16db4282ed67", "definition" : "work", "queue" : "default", "status" : "succeeded", "attempt" : 1, "reason" : null, "error" : null, "correlation_id" : "waiting", "created_at" : "2026-11-16T03:10:33.95397+00:00", "finished_at" : "2026-11-16T03:10:33.958701+00:00"}}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '01a1e255-c3e1-7440-969c-16db4282ed67', NULL);

INSERT INTO plait.keys (id, tenant_id, hash, hint, name, role, created_by, created_at, expires_at, revoked_at, last_used_at) VALUES ('01a1e255-c427-7884-9f77-961174b3c13f', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'hash of a key', 'plait_ad', 'ada''s', 'admin', 'cli', '2026-11-16 03:10:34.023636+00', NULL, NULL, NULL);

INSERT INTO plait.leader (name, holder, term, expires_at, since) VALUES ('main', 'somebody', 1, '2026-11-16 03:10:43.885347+00', '2026-11-16 03:10:33.885347+00');

INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3d3-76ac-92e6-000193603fc3', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.940268+00', NULL, 1, 1, 100, 0, 5, 0, 'running', true, 'default', 'k:limited:01a1e255-c385-7cd8-8a85-b7f8bb59d9cc:one', 'limited', NULL, 'one', NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.960615+00', NULL, NULL, 1, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3e9-77b7-9de8-981e294e5d17', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 04:10:33.961806+00', NULL, NULL, 0, 7, 0, 3, 0, 'scheduled', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3eb-729a-9fb6-681a3aa296c5', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.963175+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3e1-7440-969c-16dcce5a643c', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 04:10:33.965331+00', NULL, NULL, 1, 100, 1, 3, 0, 'scheduled', true, 'default', '', 'work', NULL, NULL, NULL, '01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c3e1-7440-969c-16da0d9dd76d', NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3ee-763c-b0aa-4d2f919882b2', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.966636+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', 'queued', NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3f0-736b-a24b-dae3d99d7bbf', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.968149+00', NULL, NULL, 0, 100, 0, 5, 0, 'queued', true, 'default', 'k:limited:01a1e255-c385-7cd8-8a85-b7f8bb59d9cc:one', 'limited', NULL, 'one', NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3f1-7718-8c20-78fa3b5744dc', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.969292+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.938068+00', NULL, 1, 1, 100, 0, 3, 0, 'running', true, 'default', '', 'work', 'running', NULL, NULL, NULL, NULL, NULL, NULL, true);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3f3-76e7-bf4a-f618eeb847f4', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.975952+00', NULL, NULL, 2, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c3fe-7665-8502-e014a6b4214e', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.989406+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, '01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c3cf-726b-866c-6a3c07babcf7', NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c40b-7f88-bb8a-67adb59644db', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:33.995334+00', NULL, NULL, 0, 100, 0, 3, 0, 'waiting', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, 'fan_out 01a1e255-c412-7b70-8831-671353d23d26', false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c420-78ad-a8ac-675cccee27ce', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.01713+00', NULL, NULL, 0, 100, 0, 3, 0, 'queued', true, 'default', '', 'work', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c431-71e7-992a-da1033f859db', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.031926+00', NULL, NULL, 0, 100, 0, 5, 0, 'queued', false, 'default', '', 'connector.webhook.deliver', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO plait.live (job_id, tenant_id, run_at, cancel_requested, worker, attempt, priority, tries, max_attempts, losses, state, metered, queue, lane, definition, dedupe_key, limit_key, cancel_reason, root_id, fan_out_id, wake_at, wait_on, tied) VALUES ('01a1e255-c431-7fb4-90ab-5d64de098334', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.031926+00', NULL, NULL, 0, 100, 0, 5, 0, 'queued', false, 'default', '', 'connector.webhook.deliver', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);

INSERT INTO plait.logins (login, tenant_id) VALUES ('ada_login', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc');

INSERT INTO plait.minutes (tenant_id, minute, enqueued, succeeded, failed, dead_letter, canceled, skipped, retried, lost, run_s) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:00+00', 21, 2, 1, 1, 2, 1, 1, 0, 0.019494);

INSERT INTO plait.nodes (name, state, joined_at, url, labels) VALUES ('n1', 'active', '2026-11-16 03:10:33.887705+00', 'http://n1.example', '{"disk": "ssd"}');

INSERT INTO plait.queues (name, paused, max_running, rate_count, rate_period_s, updated_at, serial, roots) VALUES ('slow', true, 1, 5, 1, '2026-11-16 03:10:34.026774+00', false, NULL);

INSERT INTO plait.replies (tenant_id, key_id, key, hash, at, expires_at, status, body) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c427-7884-9f77-961174b3c13f', 'once', 'hash of a request', '2026-11-16 03:10:34.027405+00', '2026-11-17 03:10:34.027405+00', 201, '{}');

INSERT INTO plait.rolled (one, closed_to, seen_at, seen_xid) VALUES (true, '2026-11-15 03:10:00+00', '2026-11-16 03:10:34.039465+00', '1096');

INSERT INTO plait.running_state (job_id, tenant_id, attempt, updated_at, progress) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 1, '2026-11-16 03:10:33.938903+00', '{"done": 0.1}');

INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3a0-7183-96ae-6321211b03b0');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3b9-7688-91b3-ee8ec788a307');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3c2-7417-9957-bc02c7334b98');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3c7-736c-98ed-287a66a55dc2');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3cb-7017-bba3-603865a3a1d4');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3cf-726b-866c-6a3c07babcf7');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3d9-735f-9a52-6bd64abb3099');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3e9-77b7-9de8-981e294e5d17');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3eb-729a-9fb6-681a3aa296c5');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3ee-763c-b0aa-4d2f919882b2');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3f1-7718-8c20-78fa3b5744dc');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a.png', '01a1e255-c3f3-76e7-bf4a-f618eeb847f4');
INSERT INTO plait.search_values (tenant_id, definition, key, value, job_id) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'work', 'path', 'a', '01a1e255-c420-78ad-a8ac-675cccee27ce');

INSERT INTO plait.sessions (hash, key_id, link, csrf, created_at, expires_at, role) VALUES ('hash of a session', '01a1e255-c427-7884-9f77-961174b3c13f', false, 'csrf', '2026-11-16 03:10:34.024768+00', '2026-11-16 04:10:34.024768+00', NULL);

INSERT INTO plait.signals (job_id, id, tenant_id, sent_at, name, consumed, payload) VALUES ('01a1e255-c3cf-726b-866c-6a3c07babcf7', '01a1e255-c413-7feb-bf5d-59da7c912285', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.003089+00', 'approved', false, '{"by": "ada"}');

INSERT INTO plait.steps (job_id, tenant_id, fan_out_id, at, due_at, seq, occurrence, attempt, overlapping, done, name, kind, hash, value, error) VALUES ('01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', NULL, '2026-11-16 03:10:33.95208+00', NULL, 1, 1, 1, false, true, 'fetch', 'call', 'hash', '"page"', NULL);
INSERT INTO plait.steps (job_id, tenant_id, fan_out_id, at, due_at, seq, occurrence, attempt, overlapping, done, name, kind, hash, value, error) VALUES ('01a1e255-c3d9-735f-9a52-6bd64abb3099', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '01a1e255-c3e1-7440-969c-16da0d9dd76d', '2026-11-16 03:10:33.95397+00', NULL, 2, 1, 1, false, true, 'fan_out', 'stream', 'hash', NULL, NULL);

INSERT INTO plait.tenants (id, slug, name, time_zone, created_at, paused, weight, max_running, max_queued, quota_left, max_triggers, retention) VALUES ('00000000-0000-7000-8000-000000000000', 'default', 'Default', 'UTC', '2026-11-16 03:10:33.562116+00', false, 1, NULL, NULL, NULL, 1000, '{}');
INSERT INTO plait.tenants (id, slug, name, time_zone, created_at, paused, weight, max_running, max_queued, quota_left, max_triggers, retention) VALUES ('01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', 'ada', 'Ada & Söhne', 'Europe/Berlin', '2026-11-16 03:10:33.860813+00', false, 3, 5, 100, 80, 1000, '{}');

INSERT INTO plait.triggers (id, tenant_id, created_at, updated_at, deleted_at, anchor_at, cursor_at, next_at, last_at, last_job_id, fired, missed, skipped, every_s, catch_up_window_s, jitter_s, timeout_s, dedupe_window_s, revision, priority, max_attempts, enabled, kind, origin, catch_up, overlap, label, definition, event_name, cron, time_zone, queue, correlation_id, dedupe_key, limit_key, created_by, error, payload) VALUES ('01a1e255-c417-75de-8133-9a6e1e8f1baa', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.006074+00', '2026-11-16 03:10:34.006074+00', NULL, '2026-11-16 03:10:34.006074+00', '2026-11-16 03:10:34.006074+00', NULL, NULL, NULL, 0, 0, 0, NULL, NULL, 0, NULL, 300, 1, NULL, NULL, true, 'schedule', 'api', 'one', 'allow', 'nightly', 'work', NULL, '0 2 * * *', NULL, NULL, NULL, NULL, NULL, 'plait_dev', NULL, '{}');
INSERT INTO plait.triggers (id, tenant_id, created_at, updated_at, deleted_at, anchor_at, cursor_at, next_at, last_at, last_job_id, fired, missed, skipped, every_s, catch_up_window_s, jitter_s, timeout_s, dedupe_window_s, revision, priority, max_attempts, enabled, kind, origin, catch_up, overlap, label, definition, event_name, cron, time_zone, queue, correlation_id, dedupe_key, limit_key, created_by, error, payload) VALUES ('01a1e255-c419-7c2b-8e65-039800452e68', '01a1e255-c385-7cd8-8a85-b7f8bb59d9cc', '2026-11-16 03:10:34.009022+00', '2026-11-16 03:10:34.009022+00', NULL, '2026-11-16 03:10:34.009022+00', '2026-11-16 03:10:34.009022+00', NULL, '2026-11-16 03:10:34.014957+00', '01a1e255-c420-78ad-a8ac-675cccee27ce', 1, 0, 0, NULL, NULL, 0, NULL, 300, 1, NULL, NULL, true, 'event', 'api', 'one', 'allow', 'resync', 'work', 'folder.updated', NULL, NULL, NULL, NULL, NULL, NULL, 'plait_dev', NULL, '{"path":"{{event.path}}"}');

INSERT INTO plait.workers (id, host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at, state, asleep, running, cursors, node, holder, draining) OVERRIDING SYSTEM VALUE VALUES (1, 'host', 1, '0', '{default,slow}', '{work,limited}', '{"zone":"a"}', 30, '2026-11-16 03:10:33.888009+00', '2026-11-16 03:10:33.888009+00', '2026-11-16 03:11:03.888009+00', 'alive', false, 0, '{"default": ["01a1e255-c385-7cd8-8a85-b7f8bb59d9cc", "k:limited:01a1e255-c385-7cd8-8a85-b7f8bb59d9cc:one"]}', 'n1', 'somebody', false);

SELECT pg_catalog.setval('plait.workers_id_seq', 1, true);

ALTER TABLE ONLY plait.announced
    ADD CONSTRAINT announced_pkey PRIMARY KEY (one);

ALTER TABLE ONLY plait.announcements
    ADD CONSTRAINT announcements_pkey PRIMARY KEY (tenant_id, endpoint_id, job_id, attempt);

ALTER TABLE ONLY plait.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (job_id, attempt);

ALTER TABLE ONLY plait.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.circuits
    ADD CONSTRAINT circuits_pkey PRIMARY KEY (tenant_id, origin);

ALTER TABLE ONLY plait.connectors
    ADD CONSTRAINT connectors_pkey PRIMARY KEY (tenant_id, type);

ALTER TABLE ONLY plait.dedupe
    ADD CONSTRAINT dedupe_pkey PRIMARY KEY (tenant_id, key);

ALTER TABLE ONLY plait.definitions
    ADD CONSTRAINT definitions_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.dependencies
    ADD CONSTRAINT dependencies_pkey PRIMARY KEY (on_id, fan_out_id);

ALTER TABLE ONLY plait.depths
    ADD CONSTRAINT depths_pkey PRIMARY KEY (tenant_id, queue, state);

ALTER TABLE ONLY plait.endpoints
    ADD CONSTRAINT endpoints_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.fan_out_order
    ADD CONSTRAINT fan_out_order_pkey PRIMARY KEY (fan_out_id, "position");

ALTER TABLE ONLY plait.fan_outs
    ADD CONSTRAINT fan_outs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.fires
    ADD CONSTRAINT fires_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.follow_ups
    ADD CONSTRAINT follow_ups_pkey PRIMARY KEY (job_id, id);

ALTER TABLE ONLY plait.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, definition, key);

ALTER TABLE ONLY plait.installed
    ADD CONSTRAINT installed_pkey PRIMARY KEY (one);

ALTER TABLE ONLY plait.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.keys
    ADD CONSTRAINT keys_hash_key UNIQUE (hash);

ALTER TABLE ONLY plait.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.leader
    ADD CONSTRAINT leader_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.live
    ADD CONSTRAINT live_pkey PRIMARY KEY (job_id) WITH (fillfactor='45');

ALTER TABLE ONLY plait.logins
    ADD CONSTRAINT logins_pkey PRIMARY KEY (login);

ALTER TABLE ONLY plait.minutes
    ADD CONSTRAINT minutes_pkey PRIMARY KEY (tenant_id, minute);

ALTER TABLE ONLY plait.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (name);

ALTER TABLE ONLY plait.replies
    ADD CONSTRAINT replies_pkey PRIMARY KEY (tenant_id, key_id, key);

ALTER TABLE ONLY plait.rolled
    ADD CONSTRAINT rolled_pkey PRIMARY KEY (one);

ALTER TABLE ONLY plait.running_state
    ADD CONSTRAINT running_state_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY plait.search_values
    ADD CONSTRAINT search_values_pkey PRIMARY KEY (tenant_id, definition, key, value, job_id);

ALTER TABLE ONLY plait.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY plait.signals
    ADD CONSTRAINT signals_pkey PRIMARY KEY (job_id, id);

ALTER TABLE ONLY plait.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (job_id, name, occurrence);

ALTER TABLE ONLY plait.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.tenants
    ADD CONSTRAINT tenants_slug_key UNIQUE (slug);

ALTER TABLE ONLY plait.triggers
    ADD CONSTRAINT triggers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY plait.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX announcements_finished ON plait.announcements USING btree (finished_at);

CREATE INDEX artifacts_expiry ON plait.artifacts USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX artifacts_job ON plait.artifacts USING btree (job_id);

CREATE UNIQUE INDEX artifacts_key ON plait.artifacts USING btree (tenant_id, job_id, kind, sha256) WHERE (doomed_at IS NULL);

CREATE INDEX attempts_canceled ON plait.attempts USING btree (tenant_id, job_id) WHERE (final = ANY (ARRAY['canceled'::plait.status, 'skipped'::plait.status]));

CREATE INDEX attempts_failed ON plait.attempts USING btree (tenant_id, job_id) WHERE (final = ANY (ARRAY['failed'::plait.status, 'dead_letter'::plait.status]));

CREATE INDEX attempts_finished ON plait.attempts USING brin (finished_at) WITH (pages_per_range='16');

CREATE INDEX audit_object ON plait.audit USING btree (object, id);

CREATE INDEX audit_tenant ON plait.audit USING btree (tenant_id, id);

CREATE INDEX buckets_full ON plait.buckets USING btree (full_at);

CREATE INDEX circuits_updated ON plait.circuits USING btree (updated_at);

CREATE UNIQUE INDEX endpoints_label ON plait.endpoints USING btree (tenant_id, label);

CREATE INDEX endpoints_subscribed ON plait.endpoints USING btree (tenant_id) WHERE (subscribed_at IS NOT NULL);

CREATE INDEX events_failed ON plait.events USING btree (tenant_id, id) WHERE (error IS NOT NULL);

CREATE INDEX events_pending ON plait.events USING btree (tenant_id, id) WHERE (dispatched_at IS NULL);

CREATE INDEX events_tenant ON plait.events USING btree (tenant_id, id);

CREATE INDEX fan_outs_cancel ON plait.fan_outs USING btree (id) WHERE cancel_due;

CREATE INDEX fan_outs_missed ON plait.fan_outs USING btree (id) WHERE ((waited_for IS NOT NULL) AND (decided_at IS NOT NULL));

CREATE INDEX fan_outs_nodes ON plait.fan_outs USING btree (id) WHERE ((on_timeout IS NOT NULL) AND (decided_at IS NOT NULL) AND (((succeeded + failed) + canceled) < total));

CREATE INDEX fan_outs_parent ON plait.fan_outs USING btree (parent_id);

CREATE INDEX fan_outs_root ON plait.fan_outs USING btree (root_id);

CREATE INDEX fan_outs_timeout ON plait.fan_outs USING btree (timeout_at) WHERE ((timeout_at IS NOT NULL) AND (decided_at IS NULL));

CREATE INDEX fan_outs_turn ON plait.fan_outs USING btree (id) WHERE (serial AND (turn IS NULL) AND (decided_at IS NULL));

CREATE INDEX fires_at ON plait.fires USING btree (at);

CREATE UNIQUE INDEX fires_event ON plait.fires USING btree (tenant_id, trigger_id, event_id) WHERE (event_id IS NOT NULL);

CREATE INDEX fires_held ON plait.fires USING btree (trigger_id, instant) WHERE (outcome = 'held'::text);

CREATE UNIQUE INDEX fires_instant ON plait.fires USING btree (tenant_id, trigger_id, instant) WHERE (instant IS NOT NULL);

CREATE INDEX fires_of_event ON plait.fires USING btree (event_id) WHERE (event_id IS NOT NULL);

CREATE INDEX fires_window ON plait.fires USING btree (trigger_id, window_key, at) WHERE (window_key IS NOT NULL);

CREATE INDEX idempotency_job ON plait.idempotency USING btree (job_id);

CREATE INDEX jobs_correlation ON plait.jobs USING btree (tenant_id, correlation_id, id) WHERE (correlation_id IS NOT NULL);

CREATE INDEX jobs_tenant ON plait.jobs USING btree (tenant_id, id);

CREATE INDEX jobs_tree ON plait.jobs USING btree (root_id, fan_out_id, fan_out_index) WHERE (root_id IS NOT NULL);

CREATE INDEX keys_of_tenant ON plait.keys USING btree (tenant_id, id);

CREATE INDEX live_cancel ON plait.live USING btree (worker) WHERE (cancel_requested IS NOT NULL);

CREATE INDEX live_claim ON plait.live USING btree (queue, tenant_id, priority, run_at, job_id) WITH (deduplicate_items=off) WHERE ((state = 'queued'::plait.status) AND (lane = ''::text));

CREATE INDEX live_due ON plait.live USING btree (run_at) WHERE (state = 'scheduled'::plait.status);

CREATE INDEX live_lanes ON plait.live USING btree (queue, lane, tenant_id, priority, run_at, job_id) WITH (deduplicate_items=off) WHERE ((state = 'queued'::plait.status) AND (lane <> ''::text));

CREATE INDEX live_leader ON plait.live USING btree (worker) WHERE (lane = ANY (ARRAY['leader'::text, 'suspect:leader'::text]));

CREATE INDEX live_limited ON plait.live USING btree (definition, tenant_id, limit_key) WITH (deduplicate_items=off) WHERE ((state = 'running'::plait.status) AND (lane <> ''::text));

CREATE INDEX live_metered ON plait.live USING btree (tenant_id) WITH (deduplicate_items=off) WHERE metered;

CREATE INDEX live_running ON plait.live USING btree (worker) WHERE (state = 'running'::plait.status);

CREATE INDEX live_tree ON plait.live USING btree (root_id, fan_out_id) WITH (deduplicate_items=off) WHERE (root_id IS NOT NULL);

CREATE INDEX live_waiting ON plait.live USING btree (tenant_id) WITH (deduplicate_items=off) WHERE (state = 'waiting'::plait.status);

CREATE INDEX live_wake ON plait.live USING btree (wake_at) WHERE (wake_at IS NOT NULL);

CREATE INDEX minutes_minute ON plait.minutes USING btree (minute);

CREATE INDEX replies_expiry ON plait.replies USING btree (expires_at);

CREATE INDEX search_values_job ON plait.search_values USING btree (job_id);

CREATE INDEX sessions_expiry ON plait.sessions USING btree (expires_at);

CREATE INDEX tenants_retention ON plait.tenants USING btree (id) WHERE (retention <> '{}'::jsonb);

CREATE INDEX tenants_special ON plait.tenants USING btree (id) WHERE (paused OR (weight <> 1) OR (max_running IS NOT NULL));

CREATE INDEX triggers_deleted ON plait.triggers USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE INDEX triggers_due ON plait.triggers USING btree (next_at NULLS FIRST) WHERE ((kind = 'schedule'::text) AND enabled AND (deleted_at IS NULL) AND (error IS NULL));

CREATE INDEX triggers_event ON plait.triggers USING btree (tenant_id, event_name) WHERE ((kind = 'event'::text) AND enabled AND (deleted_at IS NULL));

CREATE UNIQUE INDEX triggers_label ON plait.triggers USING btree (tenant_id, label) WHERE (deleted_at IS NULL);

CREATE INDEX workers_asleep ON plait.workers USING btree (id) WHERE asleep;

CREATE INDEX workers_expiry ON plait.workers USING btree (expires_at) WHERE (state = 'alive'::text);

CREATE INDEX workers_lost ON plait.workers USING btree (id) WHERE (state = 'lost'::text);

CREATE INDEX workers_node ON plait.workers USING btree (node) WHERE (state = 'alive'::text);

CREATE TRIGGER guard BEFORE UPDATE OF state ON plait.live FOR EACH ROW WHEN (((old.state <> new.state) AND (NOT (((old.state = 'queued'::plait.status) AND (new.state = 'running'::plait.status)) OR ((old.state = 'queued'::plait.status) AND (new.state = 'scheduled'::plait.status)) OR ((old.state = 'scheduled'::plait.status) AND (new.state = 'queued'::plait.status)) OR ((old.state = 'running'::plait.status) AND (new.state = ANY (ARRAY['queued'::plait.status, 'scheduled'::plait.status, 'waiting'::plait.status]))) OR ((old.state = 'waiting'::plait.status) AND (new.state = 'queued'::plait.status)))))) EXECUTE FUNCTION plait._guard_live();

ALTER TABLE ONLY plait.connectors
    ADD CONSTRAINT connectors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE ONLY plait.endpoints
    ADD CONSTRAINT endpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE ONLY plait.keys
    ADD CONSTRAINT keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE ONLY plait.logins
    ADD CONSTRAINT logins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE ONLY plait.sessions
    ADD CONSTRAINT sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES plait.keys(id) ON DELETE CASCADE;

ALTER TABLE ONLY plait.triggers
    ADD CONSTRAINT triggers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES plait.tenants(id);

ALTER TABLE plait.announcements ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.artifacts ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.attempts ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.audit ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.circuits ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.connectors ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.dedupe ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.dependencies ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.depths ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.endpoints ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.events ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.fan_out_order ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.fan_outs ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.fires ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.follow_ups ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.idempotency ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.jobs ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.keys ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.live ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.logins ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.minutes ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner ON plait.announcements TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.artifacts TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.attempts TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.audit TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.circuits TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.connectors TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.dedupe TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.dependencies TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.depths TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.endpoints TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.events TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.fan_out_order TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.fan_outs TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.fires TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.follow_ups TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.idempotency TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.jobs TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.keys TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.live TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.logins TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.minutes TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.replies TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.running_state TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.search_values TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.signals TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.steps TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.tenants TO plait_owner USING (true) WITH CHECK (true);

CREATE POLICY owner ON plait.triggers TO plait_owner USING (true) WITH CHECK (true);

ALTER TABLE plait.replies ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.running_state ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.search_values ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.signals ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.steps ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON plait.announcements FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.artifacts FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.attempts FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.audit FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.circuits FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.connectors FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.dedupe FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.dependencies FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.depths FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.endpoints FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.events FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.fan_out_order FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.fan_outs FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.fires FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.follow_ups FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.idempotency FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.jobs FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.keys FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.live FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.logins FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.minutes FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.replies FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.running_state FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.search_values FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.signals FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.steps FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.tenants FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

CREATE POLICY tenant ON plait.triggers FOR SELECT TO plait_client, plait_tenant, plait_worker, plait_admin USING ((tenant_id = ( SELECT plait._visible_tenant() AS _visible_tenant)));

ALTER TABLE plait.tenants ENABLE ROW LEVEL SECURITY;

ALTER TABLE plait.triggers ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA plait TO plait_client;
GRANT USAGE ON SCHEMA plait TO plait_tenant;
GRANT USAGE ON SCHEMA plait TO plait_worker;
GRANT USAGE ON SCHEMA plait TO plait_admin;

REVOKE ALL ON FUNCTION plait._advance(p_marks plait.marks, p_seen_at timestamp with time zone, p_queue text, p_definitions text[], p_tenants uuid[], p_priorities smallint[]) FROM PUBLIC;

GRANT SELECT ON TABLE plait.fan_outs TO plait_client;
GRANT SELECT ON TABLE plait.fan_outs TO plait_tenant;
GRANT SELECT ON TABLE plait.fan_outs TO plait_admin;

REVOKE ALL ON FUNCTION plait._all_skipped(p_fan_out plait.fan_outs) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._announce(p_from timestamp with time zone, p_to timestamp with time zone, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._archive(p_jobs uuid[]) FROM PUBLIC;

GRANT SELECT ON TABLE plait.jobs TO plait_client;
GRANT SELECT ON TABLE plait.jobs TO plait_tenant;
GRANT SELECT ON TABLE plait.jobs TO plait_admin;

REVOKE ALL ON FUNCTION plait._ask_after(p_job plait.jobs, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._ask_nodes(p_now timestamp with time zone, p_jobs uuid[], p_always boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._backoff(p_tries integer, p_base_s double precision, p_factor double precision, p_max_s double precision, p_jitter double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._between(p_marks plait.marks, p_tenants uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._bound_tenant() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._cancel_remaining(p_fan_out plait.fan_outs, p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._cancel_rows(p_now timestamp with time zone, p_jobs uuid[], p_reason text, p_error text, OUT o_canceled uuid[], OUT o_asked integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._check_jobs(p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._check_outcomes(p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._claim(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], p_seen_at timestamp with time zone, INOUT p_cursor uuid, INOUT p_lane_cursor text, INOUT p_marks plait.marks, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._claim_serial(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._count_minutes(p_from timestamp with time zone, p_to timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._count_new(p_tenant uuid, p_now timestamp with time zone, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_dedupe_keys text[], p_idempotency_keys text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._decide(p_fan_out plait.fan_outs, p_now timestamp with time zone, p_decision text, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._depend(p_now timestamp with time zone, p_ids uuid[], p_policies text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._depose(p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._detail(p_detail text, OUT error text, OUT traceback text, OUT reason text, OUT permanent boolean, OUT delay_s double precision, OUT pid integer, OUT exit_code integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._each(p_values anyarray, p_count integer) FROM PUBLIC;

GRANT SELECT ON TABLE plait.live TO plait_client;
GRANT SELECT ON TABLE plait.live TO plait_tenant;
GRANT SELECT ON TABLE plait.live TO plait_admin;

REVOKE ALL ON FUNCTION plait._end(p_live plait.live, p_now timestamp with time zone, p_status plait.ending, p_final plait.status, p_reason text, p_error text, p_result json, p_started_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._end_of_nodes(p_fan_out plait.fan_outs, p_definition text, OUT o_final plait.status, OUT o_reason text, OUT o_error text, OUT o_result json) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._enqueue_plain(p_now timestamp with time zone, p_ids uuid[], p_payloads json[], p_tenant uuid, p_definition text, p_queue text, p_priority integer, p_max_attempts integer, p_source text, p_lane text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._failed_last(p_job uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._failures(p_fan_out plait.fan_outs) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._fan_in(p_now timestamp with time zone, p_jobs uuid[], p_fan_outs uuid[], p_finals plait.status[], p_returned uuid[], p_outcomes plait.status[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._fetch(p_jobs uuid[], p_attempts integer[], p_tries smallint[], p_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._fetch_alike(p_jobs uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._final(p_cancel_requested timestamp with time zone, p_outcome text, p_permanent boolean, p_tries smallint, p_max_attempts smallint) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._fingerprint(p_error text) FROM PUBLIC;

GRANT SELECT ON TABLE plait.triggers TO plait_client;
GRANT SELECT ON TABLE plait.triggers TO plait_tenant;
GRANT SELECT ON TABLE plait.triggers TO plait_admin;

REVOKE ALL ON FUNCTION plait._fire(t plait.triggers, p_now timestamp with time zone, p_instant timestamp with time zone, p_event uuid, p_payload json, p_dedupe_key text, p_correlation_id text, p_limit_key text, p_error text, p_held uuid, OUT o_outcome text, OUT o_job uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._follow(p_live plait.live) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._forget(p_jobs uuid[], p_archive boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._give_back(p_worker integer, p_now timestamp with time zone, p_reason text, p_held uuid[], p_held_attempts integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._guard_live() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._hand_back(p_live plait.live, p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._has_keys(p_payload json, p_wanted json) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._has_open(p_job uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._hold(p_worker integer, p_job uuid, p_attempt integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._hold_keys(p_now timestamp with time zone, p_tenant uuid, p_ids uuid[], p_tenants uuid[], p_definitions text[], p_payloads text[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._holder(p_queue text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._job_nodes(p_job uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._judge(p_fan_out plait.fan_outs, p_now timestamp with time zone, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait.now() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.now() TO plait_client;
GRANT ALL ON FUNCTION plait.now() TO plait_tenant;
GRANT ALL ON FUNCTION plait.now() TO plait_worker;
GRANT ALL ON FUNCTION plait.now() TO plait_admin;

GRANT SELECT ON TABLE plait.definitions TO plait_admin;

REVOKE ALL ON FUNCTION plait._lane(p_definition text, p_tenant uuid, p_limit_key text, p_lane text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._lanes(p_queue text, p_after text, p_upto text, p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._leave_node(p_node text, p_state text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._led(p_worker integer, p_claimed_at timestamp with time zone, p_hold boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._live_counts(p_tenant uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._look_at(p_marks plait.marks) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._make_searchable(p_jobs uuid[], p_definitions text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._moment() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._next_turn(p_fan_out plait.fan_outs) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._not_held(p_worker integer, p_job uuid, p_attempt integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._open_nodes(p_now timestamp with time zone, p_job plait.jobs, p_metered boolean, p_attempt integer, p_seq integer, p_always boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._own_nursery(p_job plait.jobs) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._payload_hash(p_payload text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._payload_value(p_payload json, p_key text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._prune_below(p_root uuid, p_limit integer, p_archive boolean, OUT o_pruned integer, OUT o_archive text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._release(p_live plait.live) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._release_keys(p_tenants uuid[], p_keys text[], p_jobs uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._reopen(p_job plait.jobs, p_now timestamp with time zone, p_run_at timestamp with time zone, p_max_attempts integer, p_drop_steps boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._require_read_committed() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._reserve(p_tenant uuid, p_count integer, p_made boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._resume_parent(p_fan_out plait.fan_outs, p_now timestamp with time zone, OUT o_resumed boolean, OUT o_job uuid, OUT o_fan_out uuid, OUT o_final plait.status, OUT o_tied boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._room(p_definition text, p_tenant uuid, p_limit_key text, p_now timestamp with time zone, p_spend integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._serial_deadlocks() FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._serves(p_worker integer, p_lane text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._set_trigger(p_tenant uuid, p_label text, p_settings json, p_origin text) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._settle(p_worker integer, p_now timestamp with time zone, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._settle_succeeded(p_worker integer, p_now timestamp with time zone, p_attempt integer, p_succeeded uuid[], p_jobs uuid[], p_attempts integer[], p_results text[], p_ran_ms double precision[], OUT o_n integer, OUT o_children uuid[], OUT o_fan_outs uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._settle_tied(p_worker integer, p_now timestamp with time zone, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], OUT o_n integer, OUT o_ended uuid[], OUT o_fan_outs uuid[], OUT o_finals plait.status[], OUT o_returned uuid[], OUT o_outcomes plait.status[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._shares(p_tenants uuid[], p_limit integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._some_tenant(p_queue text, p_lane text, p_cursor uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._spawn(p_parent plait.jobs, p_nursery uuid, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], p_in_transaction boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._suspend(p_live plait.live, p_now timestamp with time zone, p_wait_on text, p_wake_at timestamp with time zone, p_result json, p_started_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_limit integer, p_definitions text[], p_marks plait.marks, INOUT p_cursor uuid, p_only uuid, p_special boolean, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_priorities smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take_lanes(p_worker integer, p_now timestamp with time zone, p_queue text, p_limit integer, p_definitions text[], INOUT p_cursor uuid, INOUT p_lane_cursor text, OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._take_suspect(p_worker integer, p_now timestamp with time zone, p_queue text, p_lane text, p_definitions text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenant(p_tenant uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenant_or_all(p_tenant uuid, p_all boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tenants(p_queue text, p_lane text, p_after uuid, p_upto uuid, p_limit integer, p_marks plait.marks, p_unmarked boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._tokens(p_name text, p_count integer, p_period_s double precision, p_now timestamp with time zone, p_spend integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._unsuccessful(p_fan_out plait.fan_outs) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._uuid_floor(p_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._visible_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_client;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_tenant;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_worker;
GRANT ALL ON FUNCTION plait._visible_tenant() TO plait_admin;

REVOKE ALL ON FUNCTION plait._wake(p_queues text[], p_always boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait._write_definition(r plait.definitions, p_new boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION plait.admit_requests(p_tenants uuid[], p_origins text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.admit_requests(p_tenants uuid[], p_origins text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.after(job uuid, definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.after(job uuid, definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.after(job uuid, definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.after(job uuid, definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.after_many(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], OUT o_status text, OUT o_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.after_many(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], OUT o_status text, OUT o_ids uuid[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.after_restore(p_until timestamp with time zone, OUT o_workers integer, OUT o_jobs integer, OUT o_schedules integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.after_restore(p_until timestamp with time zone, OUT o_workers integer, OUT o_jobs integer, OUT o_schedules integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.analytics(p_tenant uuid, p_from timestamp with time zone, p_to timestamp with time zone, p_scan integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.analytics(p_tenant uuid, p_from timestamp with time zone, p_to timestamp with time zone, p_scan integer) TO plait_client;
GRANT ALL ON FUNCTION plait.analytics(p_tenant uuid, p_from timestamp with time zone, p_to timestamp with time zone, p_scan integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.analytics(p_tenant uuid, p_from timestamp with time zone, p_to timestamp with time zone, p_scan integer) TO plait_worker;
GRANT ALL ON FUNCTION plait.analytics(p_tenant uuid, p_from timestamp with time zone, p_to timestamp with time zone, p_scan integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.announce(p_limit integer, OUT o_told integer, OUT o_more boolean, OUT o_took_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.announce(p_limit integer, OUT o_told integer, OUT o_more boolean, OUT o_took_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.authenticate(p_hash text, p_session boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.authenticate(p_hash text, p_session boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.authenticate_embed(p_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.authenticate_embed(p_hash text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.bind_login(p_login name, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.bind_login(p_login name, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_client;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.cancel(p_job uuid, p_tenant uuid, p_reason text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.cancel_remaining(p_after uuid, OUT o_fan_out uuid, OUT o_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cancel_remaining(p_after uuid, OUT o_fan_out uuid, OUT o_jobs integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.cancel_tree(p_job uuid, p_tenant uuid, p_reason text, OUT o_canceled integer, OUT o_asked integer, OUT o_left integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cancel_tree(p_job uuid, p_tenant uuid, p_reason text, OUT o_canceled integer, OUT o_asked integer, OUT o_left integer) TO plait_client;
GRANT ALL ON FUNCTION plait.cancel_tree(p_job uuid, p_tenant uuid, p_reason text, OUT o_canceled integer, OUT o_asked integer, OUT o_left integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.cancel_tree(p_job uuid, p_tenant uuid, p_reason text, OUT o_canceled integer, OUT o_asked integer, OUT o_left integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.changes(p_tenants uuid[], p_since timestamp with time zone, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.changes(p_tenants uuid[], p_since timestamp with time zone, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer, p_sleep boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.claim(p_worker integer, p_queue text, p_limit integer, p_sleep boolean) TO plait_worker;

REVOKE ALL ON FUNCTION plait.claim_plan() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.claim_plan() TO plait_admin;

REVOKE ALL ON FUNCTION plait.claim_waits(p_jobs uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.claim_waits(p_jobs uuid[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.close_endpoint(p_endpoint uuid, p_job uuid, p_attempt integer, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.close_endpoint(p_endpoint uuid, p_job uuid, p_attempt integer, p_reason text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.close_session(p_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.close_session(p_hash text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.count_live(OUT o_jobs bigint, OUT o_took_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.count_live(OUT o_jobs bigint, OUT o_took_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.create_key(p_hash text, p_hint text, p_name text, p_role text, p_tenant uuid, p_expires_at timestamp with time zone, p_created_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.create_key(p_hash text, p_hint text, p_name text, p_role text, p_tenant uuid, p_expires_at timestamp with time zone, p_created_by text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, p_marks text[], p_short boolean, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_marks text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[], OUT o_alone boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.cycle(p_worker integer, p_queues text[], p_limits integer[], p_cursors uuid[], p_lane_cursors text[], p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[], p_sleep boolean, p_marks text[], p_short boolean, OUT o_alive boolean, OUT o_stale integer[], OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_cursors uuid[], OUT o_lane_cursors text[], OUT o_marks text[], OUT o_jobs uuid[], OUT o_attempts integer[], OUT o_tries smallint[], OUT o_max smallint[], OUT o_tenants uuid[], OUT o_definitions text[], OUT o_queues text[], OUT o_payloads text[], OUT o_timeouts double precision[], OUT o_correlations text[], OUT o_alone boolean) TO plait_worker;

REVOKE ALL ON FUNCTION plait.declare_triggers(p_triggers json, p_definitions text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.declare_triggers(p_triggers json, p_definitions text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.define(p_definitions json, p_new boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.define(p_definitions json, p_new boolean) TO plait_worker;
GRANT ALL ON FUNCTION plait.define(p_definitions json, p_new boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.delete_endpoint(p_endpoint uuid, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.delete_endpoint(p_endpoint uuid, p_tenant uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.delete_endpoint(p_endpoint uuid, p_tenant uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.delete_endpoint(p_endpoint uuid, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.delete_trigger(p_trigger uuid, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.delete_trigger(p_trigger uuid, p_tenant uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.delete_trigger(p_trigger uuid, p_tenant uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.delete_trigger(p_trigger uuid, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.diagnose() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.diagnose() TO plait_admin;

REVOKE ALL ON FUNCTION plait.dispatch(p_events json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.dispatch(p_events json) TO plait_worker;

REVOKE ALL ON FUNCTION plait.drain(p_worker integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.drain(p_worker integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.due_schedules(p_limit integer, p_after uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.due_schedules(p_limit integer, p_after uuid) TO plait_worker;

REVOKE ALL ON FUNCTION plait.elect(p_holder text, p_lease_s double precision, p_resign boolean, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.elect(p_holder text, p_lease_s double precision, p_resign boolean, OUT o_leads boolean, OUT o_term bigint, OUT o_holder text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.emit(name text, data json, tenant text, correlation_id text, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.emit(name text, data json, tenant text, correlation_id text, id uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.emit(name text, data json, tenant text, correlation_id text, id uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.emit(name text, data json, tenant text, correlation_id text, id uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid, after uuid[], on_dependency_failure text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid, after uuid[], on_dependency_failure text) TO plait_client;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid, after uuid[], on_dependency_failure text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.enqueue(definition text, payload json, tenant text, queue text, priority integer, max_attempts integer, scheduled_for timestamp with time zone, delay interval, dedupe_key text, idempotency_key text, limit_key text, correlation_id text, id uuid, after uuid[], on_dependency_failure text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean, p_afters text[], p_on_dependency_failures text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean, p_afters text[], p_on_dependency_failures text[]) TO plait_client;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean, p_afters text[], p_on_dependency_failures text[]) TO plait_tenant;
GRANT ALL ON FUNCTION plait.enqueue_many(p_ids uuid[], p_definitions text[], p_payloads text[], p_tenants uuid[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_scheduled_for timestamp with time zone[], p_delays_s double precision[], p_timeouts_s double precision[], p_dedupe_keys text[], p_idempotency_keys text[], p_idempotency_ttls_s double precision[], p_limit_keys text[], p_correlation_ids text[], p_source text, p_in_transaction boolean, p_afters text[], p_on_dependency_failures text[]) TO plait_admin;

REVOKE ALL ON FUNCTION plait.enqueue_one(p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority integer, p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enqueue_one(p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority integer, p_max_attempts integer) TO plait_client;
GRANT ALL ON FUNCTION plait.enqueue_one(p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority integer, p_max_attempts integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.enqueue_one(p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority integer, p_max_attempts integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.enter_embed(p_link text, p_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.enter_embed(p_link text, p_hash text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.examine(p_old_s double precision, p_old_xids integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.examine(p_old_s double precision, p_old_xids integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.explain_job(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.failures(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_statuses text[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.failures(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_statuses text[], p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.failures(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_statuses text[], p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.failures(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_statuses text[], p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.fan_out_load(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start timestamp with time zone, p_end timestamp with time zone, p_parts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.fan_out_load(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start timestamp with time zone, p_end timestamp with time zone, p_parts integer) TO plait_client;
GRANT ALL ON FUNCTION plait.fan_out_load(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start timestamp with time zone, p_end timestamp with time zone, p_parts integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.fan_out_load(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start timestamp with time zone, p_end timestamp with time zone, p_parts integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.fan_out_states(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.fan_out_states(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.fan_out_states(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.fan_out_states(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text, p_tenant uuid, p_all boolean) TO plait_worker;
GRANT ALL ON FUNCTION plait.find_artifact(p_job uuid, p_sha256 text, p_kind text, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.findings(p_keep interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.findings(p_keep interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.fire(p_trigger uuid, p_revision integer, p_cursor timestamp with time zone, p_upto timestamp with time zone, p_next timestamp with time zone, p_fires json, p_missed integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.fire(p_trigger uuid, p_revision integer, p_cursor timestamp with time zone, p_upto timestamp with time zone, p_next timestamp with time zone, p_fires json, p_missed integer, p_error text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.fork(p_job uuid, p_tenant uuid, p_from integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.fork(p_job uuid, p_tenant uuid, p_from integer) TO plait_client;
GRANT ALL ON FUNCTION plait.fork(p_job uuid, p_tenant uuid, p_from integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.fork(p_job uuid, p_tenant uuid, p_from integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.gather(p_job uuid, p_fan_out uuid, p_after integer, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.gather(p_job uuid, p_fan_out uuid, p_after integer, p_limit integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.gather_nodes(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.gather_nodes(p_job uuid) TO plait_worker;

GRANT SELECT ON TABLE plait.attempts TO plait_client;
GRANT SELECT ON TABLE plait.attempts TO plait_tenant;
GRANT SELECT ON TABLE plait.attempts TO plait_admin;

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

REVOKE ALL ON FUNCTION plait.get_leader() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.get_leader() TO plait_client;
GRANT ALL ON FUNCTION plait.get_leader() TO plait_worker;
GRANT ALL ON FUNCTION plait.get_leader() TO plait_admin;

REVOKE ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_client;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_tenant;
GRANT ALL ON FUNCTION plait.get_outcomes(p_jobs uuid[], p_tenants uuid[]) TO plait_admin;

REVOKE ALL ON FUNCTION plait.has_failed_siblings(job uuid, tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.has_failed_siblings(job uuid, tenant text) TO plait_client;
GRANT ALL ON FUNCTION plait.has_failed_siblings(job uuid, tenant text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.has_failed_siblings(job uuid, tenant text) TO plait_worker;
GRANT ALL ON FUNCTION plait.has_failed_siblings(job uuid, tenant text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.has_pending_children(job uuid, tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.has_pending_children(job uuid, tenant text) TO plait_client;
GRANT ALL ON FUNCTION plait.has_pending_children(job uuid, tenant text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.has_pending_children(job uuid, tenant text) TO plait_worker;
GRANT ALL ON FUNCTION plait.has_pending_children(job uuid, tenant text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.heartbeat(p_worker integer, p_running integer, p_held uuid[], p_held_attempts integer[], OUT o_running integer, OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_released integer, OUT o_gone uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.heartbeat(p_worker integer, p_running integer, p_held uuid[], p_held_attempts integer[], OUT o_running integer, OUT o_cancel_jobs uuid[], OUT o_cancel_attempts integer[], OUT o_released integer, OUT o_gone uuid[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.history(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.history(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_client;
GRANT ALL ON FUNCTION plait.history(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_tenant;
GRANT ALL ON FUNCTION plait.history(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_worker;
GRANT ALL ON FUNCTION plait.history(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.job_info(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.job_info(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.job_info(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.job_info(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.job_nodes(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.job_nodes(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.job_nodes(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.job_nodes(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.job_tree(p_job uuid, p_tenant uuid, p_all boolean, p_after_fan_out uuid, p_after_index integer, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.job_tree(p_job uuid, p_tenant uuid, p_all boolean, p_after_fan_out uuid, p_after_index integer, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.job_tree(p_job uuid, p_tenant uuid, p_all boolean, p_after_fan_out uuid, p_after_index integer, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.job_tree(p_job uuid, p_tenant uuid, p_all boolean, p_after_fan_out uuid, p_after_index integer, p_limit integer) TO plait_worker;
GRANT ALL ON FUNCTION plait.job_tree(p_job uuid, p_tenant uuid, p_all boolean, p_after_fan_out uuid, p_after_index integer, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid) TO plait_worker;
GRANT ALL ON FUNCTION plait.keep_artifact(p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.latency(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.latency(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_client;
GRANT ALL ON FUNCTION plait.latency(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_tenant;
GRANT ALL ON FUNCTION plait.latency(p_tenant uuid, p_all boolean, p_from timestamp with time zone, p_step interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.leave(p_worker integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.leave(p_worker integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_attempts(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_audit(p_tenant uuid, p_all boolean, p_actor text, p_action text, p_object text, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_audit(p_tenant uuid, p_all boolean, p_actor text, p_action text, p_object text, p_before uuid, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_children(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start integer, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_children(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start integer, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.list_children(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start integer, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_children(p_job uuid, p_fan_out uuid, p_tenant uuid, p_all boolean, p_start integer, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_connectors(p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_connectors(p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.list_connectors(p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_connectors(p_tenant uuid, p_all boolean) TO plait_worker;
GRANT ALL ON FUNCTION plait.list_connectors(p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_definitions() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_definitions() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_endpoints(p_tenant uuid, p_all boolean, p_endpoint uuid, p_label text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_endpoints(p_tenant uuid, p_all boolean, p_endpoint uuid, p_label text) TO plait_client;
GRANT ALL ON FUNCTION plait.list_endpoints(p_tenant uuid, p_all boolean, p_endpoint uuid, p_label text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_endpoints(p_tenant uuid, p_all boolean, p_endpoint uuid, p_label text) TO plait_worker;
GRANT ALL ON FUNCTION plait.list_endpoints(p_tenant uuid, p_all boolean, p_endpoint uuid, p_label text) TO plait_admin;

GRANT SELECT ON TABLE plait.events TO plait_client;
GRANT SELECT ON TABLE plait.events TO plait_tenant;
GRANT SELECT ON TABLE plait.events TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_events(p_tenant uuid, p_all boolean, p_event uuid, p_name text, p_failed boolean, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_events(p_tenant uuid, p_all boolean, p_event uuid, p_name text, p_failed boolean, p_before uuid, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.list_events(p_tenant uuid, p_all boolean, p_event uuid, p_name text, p_failed boolean, p_before uuid, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_events(p_tenant uuid, p_all boolean, p_event uuid, p_name text, p_failed boolean, p_before uuid, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_fan_outs(p_job uuid, p_tenant uuid, p_all boolean, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_fan_outs(p_job uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.list_fan_outs(p_job uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_fan_outs(p_job uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_fires(p_trigger uuid, p_event uuid, p_tenant uuid, p_all boolean, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_fires(p_trigger uuid, p_event uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_client;
GRANT ALL ON FUNCTION plait.list_fires(p_trigger uuid, p_event uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_fires(p_trigger uuid, p_event uuid, p_tenant uuid, p_all boolean, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_correlation_id text, p_before uuid, p_limit integer, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_keys(p_tenant uuid, p_all boolean, p_key uuid, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_keys(p_tenant uuid, p_all boolean, p_key uuid, p_before uuid, p_limit integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_nodes() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_nodes() TO plait_client;
GRANT ALL ON FUNCTION plait.list_nodes() TO plait_worker;
GRANT ALL ON FUNCTION plait.list_nodes() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_places() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_places() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_queues(p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_queues(p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_retention() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_retention() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_schemas(p_names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_schemas(p_names text[]) TO plait_client;
GRANT ALL ON FUNCTION plait.list_schemas(p_names text[]) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_schemas(p_names text[]) TO plait_worker;
GRANT ALL ON FUNCTION plait.list_schemas(p_names text[]) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_steps(p_job uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_steps(p_job uuid, p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.list_steps(p_job uuid, p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_steps(p_job uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_tenants() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_tenants() TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_triggers(p_tenant uuid, p_all boolean, p_trigger uuid, p_label text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_triggers(p_tenant uuid, p_all boolean, p_trigger uuid, p_label text) TO plait_client;
GRANT ALL ON FUNCTION plait.list_triggers(p_tenant uuid, p_all boolean, p_trigger uuid, p_label text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.list_triggers(p_tenant uuid, p_all boolean, p_trigger uuid, p_label text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.list_workers(p_since interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.list_workers(p_since interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.load_steps(p_worker integer, p_job uuid, p_attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.load_steps(p_worker integer, p_job uuid, p_attempt integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.log_attempt(p_worker integer, p_job uuid, p_attempt integer, p_stdout text, p_stderr text, p_progress json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.log_attempt(p_worker integer, p_job uuid, p_attempt integer, p_stdout text, p_stderr text, p_progress json) TO plait_worker;

REVOKE ALL ON FUNCTION plait.metrics(p_since timestamp with time zone, p_top integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.metrics(p_since timestamp with time zone, p_top integer) TO plait_worker;
GRANT ALL ON FUNCTION plait.metrics(p_since timestamp with time zone, p_top integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.open_embed(p_key uuid, p_hash text, p_role text, p_ttl interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.open_embed(p_key uuid, p_hash text, p_role text, p_ttl interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.open_fan_out(p_worker integer, p_job uuid, p_attempt integer, p_fan_out uuid, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_strategy text, p_needed integer, p_early boolean, p_timeout_s double precision, p_cancel_remaining boolean, p_cancel_on_parent_failure boolean, p_nested boolean, p_streamed boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_limit_keys text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.open_fan_out(p_worker integer, p_job uuid, p_attempt integer, p_fan_out uuid, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_strategy text, p_needed integer, p_early boolean, p_timeout_s double precision, p_cancel_remaining boolean, p_cancel_on_parent_failure boolean, p_nested boolean, p_streamed boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_limit_keys text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.open_nodes(p_worker integer, p_job uuid, p_attempt integer, p_seq integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.open_nodes(p_worker integer, p_job uuid, p_attempt integer, p_seq integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.open_nursery(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_serial boolean, p_stop boolean, p_nested boolean, p_cancel_on_parent_failure boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.open_nursery(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_serial boolean, p_stop boolean, p_nested boolean, p_cancel_on_parent_failure boolean) TO plait_worker;

REVOKE ALL ON FUNCTION plait.open_session(p_key uuid, p_hash text, p_csrf text, p_ttl interval, p_link boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.open_session(p_key uuid, p_hash text, p_csrf text, p_ttl interval, p_link boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.overview(p_tenant uuid, p_all boolean, OUT o_at timestamp with time zone, OUT o_scheduled bigint, OUT o_queued bigint, OUT o_running bigint, OUT o_waiting bigint, OUT o_oldest_queued_s double precision, OUT o_failed bigint, OUT o_dead_letter bigint, OUT o_fan_outs bigint, OUT o_workflows bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.overview(p_tenant uuid, p_all boolean, OUT o_at timestamp with time zone, OUT o_scheduled bigint, OUT o_queued bigint, OUT o_running bigint, OUT o_waiting bigint, OUT o_oldest_queued_s double precision, OUT o_failed bigint, OUT o_dead_letter bigint, OUT o_fan_outs bigint, OUT o_workflows bigint) TO plait_client;
GRANT ALL ON FUNCTION plait.overview(p_tenant uuid, p_all boolean, OUT o_at timestamp with time zone, OUT o_scheduled bigint, OUT o_queued bigint, OUT o_running bigint, OUT o_waiting bigint, OUT o_oldest_queued_s double precision, OUT o_failed bigint, OUT o_dead_letter bigint, OUT o_fan_outs bigint, OUT o_workflows bigint) TO plait_tenant;
GRANT ALL ON FUNCTION plait.overview(p_tenant uuid, p_all boolean, OUT o_at timestamp with time zone, OUT o_scheduled bigint, OUT o_queued bigint, OUT o_running bigint, OUT o_waiting bigint, OUT o_oldest_queued_s double precision, OUT o_failed bigint, OUT o_dead_letter bigint, OUT o_fan_outs bigint, OUT o_workflows bigint) TO plait_admin;

REVOKE ALL ON FUNCTION plait.pending_events(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.pending_events(p_limit integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.progress(p_worker integer, p_job uuid, p_attempt integer, p_progress json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.progress(p_worker integer, p_job uuid, p_attempt integer, p_progress json) TO plait_worker;

REVOKE ALL ON FUNCTION plait.promote(p_limit integer, OUT o_promoted integer, OUT o_next_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.promote(p_limit integer, OUT o_promoted integer, OUT o_next_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.prune(p_succeeded interval, p_skipped interval, p_canceled interval, p_failed interval, p_dead_letter interval, p_cursor uuid, p_limit integer, p_archive boolean, OUT o_pruned integer, OUT o_cursor uuid, OUT o_archive text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.prune(p_succeeded interval, p_skipped interval, p_canceled interval, p_failed interval, p_dead_letter interval, p_cursor uuid, p_limit integer, p_archive boolean, OUT o_pruned integer, OUT o_cursor uuid, OUT o_archive text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.record(p_tenant uuid, p_actor text, p_action text, p_object text, p_request_id text, p_detail json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.record(p_tenant uuid, p_actor text, p_action text, p_object text, p_request_id text, p_detail json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision, p_metadata json, p_node text, p_holder text, p_labels json, p_url text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.register_worker(p_host text, p_pid integer, p_version text, p_queues text[], p_definitions text[], p_lease_s double precision, p_metadata json, p_node text, p_holder text, p_labels json, p_url text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.release_fires(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.release_fires(p_limit integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.report_requests(p_tenants uuid[], p_origins text[], p_ok boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.report_requests(p_tenants uuid[], p_origins text[], p_ok boolean[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_client;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_tenant;
GRANT ALL ON FUNCTION plait.reschedule(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer) TO plait_admin;

REVOKE ALL ON FUNCTION plait.rescue(p_limit integer, p_max_losses integer, p_cancel_grace_s double precision, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer, OUT o_resumed integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.rescue(p_limit integer, p_max_losses integer, p_cancel_grace_s double precision, OUT o_lost integer, OUT o_requeued integer, OUT o_dead integer, OUT o_canceled integer, OUT o_resumed integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.reserve_reply(p_tenant uuid, p_key_id uuid, p_key text, p_hash text, OUT o_begun boolean, OUT o_status integer, OUT o_body text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.reserve_reply(p_tenant uuid, p_key_id uuid, p_key text, p_hash text, OUT o_begun boolean, OUT o_status integer, OUT o_body text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.resume(p_limit integer, OUT o_resumed integer, OUT o_timed_out integer, OUT o_next_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.resume(p_limit integer, OUT o_resumed integer, OUT o_timed_out integer, OUT o_next_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer, p_steps text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer, p_steps text) TO plait_client;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer, p_steps text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.retry(p_job uuid, p_tenant uuid, p_run_at timestamp with time zone, p_max_attempts integer, p_steps text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.retry_tree(p_job uuid, p_tenant uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.retry_tree(p_job uuid, p_tenant uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.retry_tree(p_job uuid, p_tenant uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.retry_tree(p_job uuid, p_tenant uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.revoke_key(p_key uuid, p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.revoke_key(p_key uuid, p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.roll_up(OUT o_more boolean, OUT o_took_s double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.roll_up(OUT o_more boolean, OUT o_took_s double precision) TO plait_worker;

REVOKE ALL ON FUNCTION plait.rotate_endpoint(p_endpoint uuid, p_tenant uuid, p_overlap interval) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.rotate_endpoint(p_endpoint uuid, p_tenant uuid, p_overlap interval) TO plait_client;
GRANT ALL ON FUNCTION plait.rotate_endpoint(p_endpoint uuid, p_tenant uuid, p_overlap interval) TO plait_tenant;
GRANT ALL ON FUNCTION plait.rotate_endpoint(p_endpoint uuid, p_tenant uuid, p_overlap interval) TO plait_admin;

REVOKE ALL ON FUNCTION plait.save_steps(p_worker integer, p_jobs uuid[], p_attempts integer[], p_names text[], p_occurrences integer[], p_seqs integer[], p_kinds text[], p_overlapping boolean[], p_hashes text[], p_values text[], p_errors text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.save_steps(p_worker integer, p_jobs uuid[], p_attempts integer[], p_names text[], p_occurrences integer[], p_seqs integer[], p_kinds text[], p_overlapping boolean[], p_hashes text[], p_values text[], p_errors text[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.search_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_source text, p_worker integer, p_correlation_id text, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_search text, p_payload json, p_before uuid, p_limit integer, p_offset integer, p_scan integer, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.search_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_source text, p_worker integer, p_correlation_id text, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_search text, p_payload json, p_before uuid, p_limit integer, p_offset integer, p_scan integer, p_error text) TO plait_client;
GRANT ALL ON FUNCTION plait.search_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_source text, p_worker integer, p_correlation_id text, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_search text, p_payload json, p_before uuid, p_limit integer, p_offset integer, p_scan integer, p_error text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.search_jobs(p_tenant uuid, p_all boolean, p_statuses text[], p_queue text, p_definition text, p_source text, p_worker integer, p_correlation_id text, p_parent uuid, p_root uuid, p_fan_out uuid, p_has_children boolean, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_search text, p_payload json, p_before uuid, p_limit integer, p_offset integer, p_scan integer, p_error text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_connector(p_type text, p_settings json, p_tenant uuid, p_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_connector(p_type text, p_settings json, p_tenant uuid, p_by text) TO plait_client;
GRANT ALL ON FUNCTION plait.set_connector(p_type text, p_settings json, p_tenant uuid, p_by text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.set_connector(p_type text, p_settings json, p_tenant uuid, p_by text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_definition(p_name text, p_settings json, p_unchanged_since timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_definition(p_name text, p_settings json, p_unchanged_since timestamp with time zone) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_endpoint(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_endpoint(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.set_endpoint(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.set_endpoint(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_queue(p_name text, p_settings json) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_queue(p_name text, p_settings json) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_tenant(p_slug text, p_settings json, p_new boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_tenant(p_slug text, p_settings json, p_new boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.set_trigger(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.set_trigger(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.set_trigger(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.set_trigger(p_label text, p_settings json, p_tenant uuid, p_unchanged_since timestamp with time zone, p_new boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.settle(p_worker integer, p_jobs uuid[], p_attempts integer[], p_outcomes text[], p_results text[], p_details text[], p_ran_ms double precision[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.signal(p_job uuid, p_name text, p_payload json, p_tenant uuid, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.signal(p_job uuid, p_name text, p_payload json, p_tenant uuid, p_id uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.signal(p_job uuid, p_name text, p_payload json, p_tenant uuid, p_id uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.signal(p_job uuid, p_name text, p_payload json, p_tenant uuid, p_id uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.spawn(definition text, payload json, parent uuid, sibling_of uuid, attempt integer, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.spawn(definition text, payload json, parent uuid, sibling_of uuid, attempt integer, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_client;
GRANT ALL ON FUNCTION plait.spawn(definition text, payload json, parent uuid, sibling_of uuid, attempt integer, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_tenant;
GRANT ALL ON FUNCTION plait.spawn(definition text, payload json, parent uuid, sibling_of uuid, attempt integer, tenant text, queue text, priority integer, max_attempts integer, timeout interval, delay interval, dedupe_key text, limit_key text, id uuid) TO plait_admin;

REVOKE ALL ON FUNCTION plait.spawn_many(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_sibling boolean, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], OUT o_status text, OUT o_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.spawn_many(p_worker integer, p_job uuid, p_attempt integer, p_nursery uuid, p_sibling boolean, p_name text, p_occurrence integer, p_seq integer, p_hash text, p_overlapping boolean, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_timeouts_s double precision[], p_delays_s double precision[], p_dedupe_keys text[], p_limit_keys text[], OUT o_status text, OUT o_ids uuid[]) TO plait_worker;

REVOKE ALL ON FUNCTION plait.store_reply(p_tenant uuid, p_key_id uuid, p_key text, p_status integer, p_body text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.store_reply(p_tenant uuid, p_key_id uuid, p_key text, p_status integer, p_body text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_client;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_tenant;
GRANT ALL ON FUNCTION plait.summary(p_tenant uuid, p_all boolean) TO plait_admin;

REVOKE ALL ON FUNCTION plait.suspend(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_hash text, p_kind text, p_delay_s double precision, p_until timestamp with time zone, p_signal text, p_fan_out uuid, p_ended integer, OUT o_status text, OUT o_value text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.suspend(p_worker integer, p_job uuid, p_attempt integer, p_name text, p_occurrence integer, p_seq integer, p_overlapping boolean, p_hash text, p_kind text, p_delay_s double precision, p_until timestamp with time zone, p_signal text, p_fan_out uuid, p_ended integer, OUT o_status text, OUT o_value text) TO plait_worker;

REVOKE ALL ON FUNCTION plait.sweep_artifacts(p_removed uuid[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.sweep_artifacts(p_removed uuid[], p_limit integer) TO plait_worker;

REVOKE ALL ON FUNCTION plait.tenant_id(p_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_client;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_tenant;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_worker;
GRANT ALL ON FUNCTION plait.tenant_id(p_tenant text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.tenant_load(p_from timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.tenant_load(p_from timestamp with time zone) TO plait_admin;

REVOKE ALL ON FUNCTION plait.usage(p_tenant uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.usage(p_tenant uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) TO plait_client;
GRANT ALL ON FUNCTION plait.usage(p_tenant uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) TO plait_tenant;
GRANT ALL ON FUNCTION plait.usage(p_tenant uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) TO plait_worker;
GRANT ALL ON FUNCTION plait.usage(p_tenant uuid, OUT o_now timestamp with time zone, OUT o_slug text, OUT o_name text, OUT o_live bigint, OUT o_running bigint, OUT o_max_queued integer, OUT o_max_running integer, OUT o_weight integer, OUT o_triggers bigint, OUT o_max_triggers integer, OUT o_endpoints bigint) TO plait_admin;

REVOKE ALL ON FUNCTION plait.use_link(p_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.use_link(p_hash text) TO plait_admin;

REVOKE ALL ON FUNCTION plait.uuidv7() FROM PUBLIC;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_client;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_tenant;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_worker;
GRANT ALL ON FUNCTION plait.uuidv7() TO plait_admin;

REVOKE ALL ON FUNCTION plait.worker_key(p_worker integer) FROM PUBLIC;
GRANT ALL ON FUNCTION plait.worker_key(p_worker integer) TO plait_worker;

GRANT SELECT ON TABLE plait.artifacts TO plait_client;
GRANT SELECT ON TABLE plait.artifacts TO plait_tenant;
GRANT SELECT ON TABLE plait.artifacts TO plait_admin;

GRANT SELECT ON TABLE plait.connectors TO plait_client;
GRANT SELECT ON TABLE plait.connectors TO plait_tenant;
GRANT SELECT ON TABLE plait.connectors TO plait_admin;

GRANT SELECT ON TABLE plait.dedupe TO plait_client;
GRANT SELECT ON TABLE plait.dedupe TO plait_tenant;
GRANT SELECT ON TABLE plait.dedupe TO plait_admin;

GRANT SELECT ON TABLE plait.dependencies TO plait_client;
GRANT SELECT ON TABLE plait.dependencies TO plait_tenant;
GRANT SELECT ON TABLE plait.dependencies TO plait_admin;

GRANT SELECT ON TABLE plait.endpoints TO plait_client;
GRANT SELECT ON TABLE plait.endpoints TO plait_tenant;
GRANT SELECT ON TABLE plait.endpoints TO plait_admin;

GRANT SELECT ON TABLE plait.fan_out_order TO plait_client;
GRANT SELECT ON TABLE plait.fan_out_order TO plait_tenant;
GRANT SELECT ON TABLE plait.fan_out_order TO plait_admin;

GRANT SELECT ON TABLE plait.fires TO plait_client;
GRANT SELECT ON TABLE plait.fires TO plait_tenant;
GRANT SELECT ON TABLE plait.fires TO plait_admin;

GRANT SELECT ON TABLE plait.follow_ups TO plait_client;
GRANT SELECT ON TABLE plait.follow_ups TO plait_tenant;
GRANT SELECT ON TABLE plait.follow_ups TO plait_admin;

GRANT SELECT ON TABLE plait.idempotency TO plait_client;
GRANT SELECT ON TABLE plait.idempotency TO plait_tenant;
GRANT SELECT ON TABLE plait.idempotency TO plait_admin;

GRANT SELECT ON TABLE plait.installed TO plait_client;
GRANT SELECT ON TABLE plait.installed TO plait_tenant;
GRANT SELECT ON TABLE plait.installed TO plait_worker;
GRANT SELECT ON TABLE plait.installed TO plait_admin;

GRANT SELECT ON TABLE plait.leader TO plait_admin;

GRANT SELECT ON TABLE plait.nodes TO plait_admin;

GRANT SELECT ON TABLE plait.queues TO plait_admin;

GRANT SELECT ON TABLE plait.search_values TO plait_client;
GRANT SELECT ON TABLE plait.search_values TO plait_tenant;
GRANT SELECT ON TABLE plait.search_values TO plait_admin;

GRANT SELECT ON TABLE plait.signals TO plait_client;
GRANT SELECT ON TABLE plait.signals TO plait_tenant;
GRANT SELECT ON TABLE plait.signals TO plait_admin;

GRANT SELECT ON TABLE plait.steps TO plait_client;
GRANT SELECT ON TABLE plait.steps TO plait_tenant;
GRANT SELECT ON TABLE plait.steps TO plait_admin;

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
