-- _check_jobs: refuse bad arguments with a sentence that names them.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001, PL002
--   called   enqueue_many
create or replace function plait._check_jobs(
  p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[], p_priorities int[], p_max_attempts int[],
  p_delays_s float8[], p_timeouts_s float8[], p_dedupe_keys text[], p_idempotency_keys text[], p_limit_keys text[]
) returns void
language plpgsql stable as $$
declare
  v_bad text;
  v_low uuid := plait._uuid_floor(clock_timestamp() - interval '1 day');  -- an id is a physical thing: the real clock
  v_high uuid := plait._uuid_floor(clock_timestamp() + interval '1 day');
begin
  if coalesce(cardinality(p_ids), 0) = 0
     or cardinality(p_definitions) is distinct from cardinality(p_ids) or cardinality(p_payloads) is distinct from cardinality(p_ids) then
    raise exception 'ids, definitions and payloads must be arrays of one length, and not empty' using errcode = 'PL001';
  end if;
  if exists (select from unnest(p_ids) i where i is null or i < v_low or i > v_high or substr(i::text, 15, 1) <> '7')
     or (select count(distinct i) from unnest(p_ids) i) < cardinality(p_ids) then
    raise exception 'a job''s id must be a new UUIDv7 made within a day of now' using errcode = 'PL002';
  end if;

  select case
    when definition is null or definition !~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'
      then 'a definition''s name is 1 to 200 printable characters, not ' || coalesce(quote_literal(left(definition, 80)), 'null')
    when payload is null or octet_length(payload) > 1048576 then 'a payload is JSON of at most 1 MiB'
    when ltrim(left(payload, 80), E' \t\r\n') !~ '^\{' then 'a payload is a JSON object: the arguments by name'
    when queue !~ '^[A-Za-z0-9_.:-]{1,100}$'
      then 'a queue''s name is 1 to 100 letters, digits and _ . : -, not ' || quote_literal(left(queue, 80))
    when priority not between -32768 and 32767 then 'a priority is between -32768 and 32767, not ' || priority
    when max_attempts not between 1 and 10000 then 'max_attempts is between 1 and 10000, not ' || max_attempts
    when delay_s < 0 or delay_s > 3.2e9 or delay_s = 'NaN' then 'a delay is between 0 and 100 years, not ' || delay_s || ' s'
    when timeout_s <= 0 or timeout_s = 'NaN' then 'a timeout is more than 0, not ' || timeout_s || ' s'
    else 'a dedupe key, idempotency key or limit key is 1 to 500 characters' end
  into v_bad
  from unnest(p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts, p_delays_s, p_timeouts_s,
              p_dedupe_keys, p_idempotency_keys, p_limit_keys)
       i(definition, payload, queue, priority, max_attempts, delay_s, timeout_s, dedupe_key, idempotency_key, limit_key)
  where definition is null or definition !~ '^[[:graph:]]([[:print:]]{0,198}[[:graph:]])?$'
     or payload is null or octet_length(payload) > 1048576
     or ltrim(left(payload, 80), E' \t\r\n') !~ '^\{'
     or queue !~ '^[A-Za-z0-9_.:-]{1,100}$'
     or priority not between -32768 and 32767
     or max_attempts not between 1 and 10000
     or delay_s < 0 or delay_s > 3.2e9 or delay_s = 'NaN' or timeout_s <= 0 or timeout_s = 'NaN'
     or length(dedupe_key) not between 1 and 500 or length(idempotency_key) not between 1 and 500
     or length(limit_key) not between 1 and 500
  limit 1;
  if found then
    raise exception '%', v_bad using errcode = 'PL001';
  end if;
end $$;
