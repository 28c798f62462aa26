-- _uuid_floor: the lowest UUIDv7 for a point in time.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   analytics, changes, _check_jobs, _count_minutes, emit, enqueue_one, findings, latency,
--            prune, roll_up, search_jobs, _write_definition
create or replace function plait._uuid_floor(p_at timestamptz) returns uuid
language sql immutable parallel safe
return (encode(substring(int8send((extract(epoch from p_at) * 1000)::bigint) from 3), 'hex')
        || '70008000000000000000')::uuid;
