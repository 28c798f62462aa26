-- _has_keys: whether a payload has these values under these keys, or at these paths (`a.b.0`). What jsonb can't hold has none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   search_jobs
create or replace function plait._has_keys(p_payload json, p_wanted json) returns boolean
language plpgsql immutable as $$
begin
  return not exists (
    select from json_each_text(p_wanted) w where coalesce(p_payload ->> w.key, p_payload #>> string_to_array(w.key, '.')) is distinct from w.value);
exception when data_exception or program_limit_exceeded then
  return false;
end $$;
