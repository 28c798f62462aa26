-- _payload_value: what a payload has under a key of its own, or else at a path (`order.customer`, `lines.0`), as text; null where there is none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _payload_matches, _store_search_values
--
-- What text can't hold (\u0000, half a character) is as if it were not there.
create or replace function plait._payload_value(p_payload json, p_key text) returns text
language plpgsql immutable as $$
begin
  return coalesce(p_payload ->> p_key, case when p_key like '%.%' then p_payload #>> string_to_array(p_key, '.') end);
exception when data_exception or program_limit_exceeded then
  return null;
end $$;
