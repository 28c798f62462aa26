-- _payload_matches: whether a payload contains these keys with these values.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   search_jobs
create or replace function plait._payload_matches(p_payload json, p_wanted json) returns boolean
language sql immutable as $$
  select not exists (
    select from json_each_text(p_wanted) w
    where plait._payload_value(p_payload, w.key) is distinct from w.value) $$;
