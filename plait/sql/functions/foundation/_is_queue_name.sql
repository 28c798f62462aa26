-- _is_queue_name: whether a queue may have this name; null for null.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _caller_default, _check_jobs, enqueue_one, set_queue
--
-- The check constraints of plait.definitions and plait.triggers, and QUEUE_NAME in
-- plait.model.policies, have the same pattern.
create or replace function plait._is_queue_name(p_name text) returns boolean
language sql immutable parallel safe
return p_name ~ '^[A-Za-z0-9_.:-]{1,100}$';
