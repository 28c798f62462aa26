-- _check_jobs: validate the arguments of new jobs; returns the payloads as JSON.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001, PL002
--   called   _add_follow_ups, enqueue_many, open_fan_out, _spawn
create or replace function plait._check_jobs(
  p_now                timestamptz,
  p_ids                uuid[],
  p_definitions        text[],
  p_payloads           text[],
  p_source             text default 'system',
  p_tenants            uuid[] default null,
  p_queues             text[] default null,
  p_priorities         int[] default null,
  p_max_attempts       int[] default null,
  p_scheduled_for      timestamptz[] default null,
  p_delays_s           float8[] default null,
  p_timeouts_s         float8[] default null,
  p_dedupe_keys        text[] default null,
  p_idempotency_keys   text[] default null,
  p_idempotency_ttls_s float8[] default null,
  p_limit_keys         text[] default null,
  p_correlation_ids    text[] default null
) returns json[]
language plpgsql stable as $$
declare
  v_n   int := cardinality(p_ids);
  v_bad text;
  v_plain boolean;
  v_payloads json[];
  -- clock: ids contain the real time
  v_low uuid := plait._uuid_floor(clock_timestamp() - interval '1 day');
  v_high uuid := plait._uuid_floor(clock_timestamp() + interval '1 day');  -- clock: as above
begin
  if coalesce(v_n, 0) = 0 or cardinality(p_payloads) is distinct from v_n
     or cardinality(p_definitions) not in (1, v_n) or p_definitions is null then
    raise exception 'ids, definitions and payloads must be non-empty arrays of equal length'
      using errcode = 'PL001';
  end if;
  -- unnest would pad shorter arrays with nulls, which mean defaults. A single element may apply to
  -- all jobs.
  if cardinality(p_tenants) not in (1, v_n) or cardinality(p_queues) not in (1, v_n)
     or cardinality(p_priorities) not in (1, v_n) or cardinality(p_max_attempts) not in (1, v_n)
     or cardinality(p_scheduled_for) <> v_n or cardinality(p_delays_s) <> v_n
     or cardinality(p_timeouts_s) <> v_n or cardinality(p_dedupe_keys) <> v_n
     or cardinality(p_idempotency_keys) <> v_n or cardinality(p_idempotency_ttls_s) <> v_n
     or cardinality(p_limit_keys) <> v_n or cardinality(p_correlation_ids) <> v_n then
    raise exception 'every array must have as many elements as there are ids'
      using errcode = 'PL001';
  end if;
  if p_source is null or p_source not in ('manual', 'event', 'schedule', 'system') then
    raise exception 'source must be manual, event, schedule or system, got %',
      coalesce(quote_literal(left(p_source, 80)), 'null')
      using errcode = 'PL001';
  end if;
  -- Most calls have plain jobs of one definition and queue: one check covers these.
  v_plain := cardinality(p_definitions) = 1
    and p_definitions[1] ~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'
    and coalesce(cardinality(p_queues) = 1 and plait._is_queue_name(p_queues[1]), p_queues is null)
    and coalesce(cardinality(p_priorities) = 1 and p_priorities[1] between -32768 and 32767,
                 p_priorities is null)
    and coalesce(cardinality(p_max_attempts) = 1 and p_max_attempts[1] between 1 and 10000,
                 p_max_attempts is null)
    and num_nonnulls(p_scheduled_for, p_delays_s, p_timeouts_s, p_dedupe_keys, p_idempotency_keys,
                     p_idempotency_ttls_s, p_limit_keys, p_correlation_ids) = 0;
  if v_plain and v_n = 1 then
    v_plain := plait._is_new_id(p_ids[1], v_low, v_high) and octet_length(p_payloads[1]) <= 1048576;
  elsif v_plain then
    v_plain := not exists (select from unnest(p_ids, p_payloads) u(id, payload)
                           where plait._is_new_id(id, v_low, v_high) is not true
                              or payload is null or octet_length(payload) > 1048576);
  end if;
  if v_plain is not true then
    -- _insert_jobs reads arrays by position, so bounds like [0:1] and [1:2][1:1] are rejected.
    if concat_ws(',', array_dims(p_ids), array_dims(p_definitions), array_dims(p_payloads),
                 array_dims(p_tenants), array_dims(p_queues), array_dims(p_priorities),
                 array_dims(p_max_attempts), array_dims(p_scheduled_for), array_dims(p_delays_s),
                 array_dims(p_timeouts_s), array_dims(p_dedupe_keys),
                 array_dims(p_idempotency_keys), array_dims(p_limit_keys),
                 array_dims(p_correlation_ids)) ~ '\]\[|\[(?!1:)' then
      raise exception 'arrays must be one-dimensional with lower bound 1' using errcode = 'PL001';
    end if;
    if exists (select from unnest(p_ids) i
               where plait._is_new_id(i, v_low, v_high) is not true) then
      raise exception 'a job id must be a new UUIDv7 that was generated within a day of now'
        using errcode = 'PL002';
    end if;

    -- Names are checked once per distinct value, because pattern matching costs more than all other
    -- checks. (`offset 0` prevents Postgres from evaluating the pattern for each row.)
    select 'a definition name must have 1 to 200 printable characters, got '
           || coalesce(quote_literal(left(d, 80)), 'null')
    into v_bad
    from (select distinct d from unnest(p_definitions) d offset 0) n
    where d is null or d !~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$' limit 1;
    if v_bad is null then
      select 'a queue name must have 1 to 100 letters, digits and _ . : -, got '
             || quote_literal(left(q, 80))
      into v_bad
      from (select distinct q from unnest(p_queues) q offset 0) n
      where not plait._is_queue_name(q) limit 1;
    end if;
    if v_bad is null then
      select case
        when payload is null or octet_length(payload) > 1048576 then
          'a payload must be JSON of at most 1 MiB'
        when priority not between -32768 and 32767 then
          'priority must be between -32768 and 32767, got ' || priority
        when max_attempts not between 1 and 10000 then
          'max_attempts must be between 1 and 10000, got ' || max_attempts
        when delay_s < 0 or delay_s > 3.2e9 then
          'a delay must be between 0 and 100 years, got ' || delay_s || ' s'
        when scheduled_for not between p_now - interval '100 years'
               and p_now + interval '100 years' then
          'the start time must be within 100 years of now, got ' || scheduled_for
        else 'a timeout must be more than 0, got ' || timeout_s || ' s' end
      into v_bad
      from unnest(
        p_payloads, p_priorities, p_max_attempts, p_scheduled_for, p_delays_s, p_timeouts_s)
           i(payload, priority, max_attempts, scheduled_for, delay_s, timeout_s)
      where payload is null or octet_length(payload) > 1048576
         or priority not between -32768 and 32767
         or max_attempts not between 1 and 10000
         -- NaN is greater than any number
         or delay_s < 0 or delay_s > 3.2e9
         or scheduled_for not between p_now - interval '100 years' and p_now + interval '100 years'
         or timeout_s <= 0 or timeout_s = 'NaN'
      limit 1;
    end if;
    if v_bad is null
       and (p_dedupe_keys is not null or p_idempotency_keys is not null
            or p_idempotency_ttls_s is not null or p_limit_keys is not null
            or p_correlation_ids is not null) then
      select case when ttl_s <= 0 or ttl_s > 3.2e9 then
                    'the ttl of an idempotency key must be more than 0 and at most 100 years, got '
                    || ttl_s || ' s'
                  else 'a dedupe key, idempotency key, limit key or correlation id must have 1 to 500 characters' end
      into v_bad
      from unnest(
        p_dedupe_keys, p_idempotency_keys, p_idempotency_ttls_s, p_limit_keys, p_correlation_ids)
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
    raise exception 'payload is not valid JSON: %', sqlerrm using errcode = 'PL001';
  end;
  if v_n = 1 and json_typeof(v_payloads[1]) <> 'object'
     or v_n > 1 and exists (select from unnest(v_payloads) p where json_typeof(p) <> 'object') then
    raise exception 'payload must be a JSON object with the arguments by name'
      using errcode = 'PL001';
  end if;
  return v_payloads;
end $$;
