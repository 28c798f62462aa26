-- _payload_value: the value of a payload's key or path (`order.customer`) as text, or null.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _payload_matches, _store_search_values
--
-- A top-level key with this name takes precedence over a path. A value that Postgres text can't
-- store (\u0000, a lone surrogate) is returned as null.
create or replace function plait._payload_value(p_payload json, p_key text) returns text
language plpgsql immutable as $$
begin
  return coalesce(p_payload ->> p_key,
                  case when p_key like '%.%' then p_payload #>> string_to_array(p_key, '.') end);
exception when data_exception or program_limit_exceeded then
  return null;
end $$;
