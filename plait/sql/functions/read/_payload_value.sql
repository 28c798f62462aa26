-- _payload_value: a payload's value under a key or path (`order.customer`), as text; null: none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _payload_matches, _store_search_values
--
-- A top-level key with this name takes precedence over a path. A value that text can't hold
-- (\u0000, a lone surrogate) is null.
create or replace function plait._payload_value(p_payload json, p_key text) returns text
language plpgsql immutable as $$
begin
  return coalesce(p_payload ->> p_key,
                  case when p_key like '%.%' then p_payload #>> string_to_array(p_key, '.') end);
exception when data_exception or program_limit_exceeded then
  return null;
end $$;
