-- _is_new_id: whether an id is a UUIDv7 within the given bounds; null for null.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _check_jobs, emit, enqueue_one
--
-- The bounds are _uuid_floor of a day before and a day after now. A caller that checks many ids
-- computes them once.
create or replace function plait._is_new_id(p_id uuid, p_low uuid, p_high uuid) returns boolean
language sql immutable parallel safe
return p_id between p_low and p_high and get_byte(uuid_send(p_id), 6) >> 4 = 7;
