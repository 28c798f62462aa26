-- _caller_default: a default from the caller's code, for a definition that is not registered yet.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an invalid value
--   called   _resolve_options
create or replace function plait._caller_default(p_defaults json, p_definition text, p_setting text)
returns text language plpgsql immutable as $$
declare v text := p_defaults -> p_definition ->> p_setting;
begin
  if not (case p_setting when 'queue' then plait._is_queue_name(v)
         when 'priority' then v ~ '^-?[0-9]{1,5}$' and v::int between -32768 and 32767
         else v ~ '^[0-9]{1,5}$' and v::int between 1 and 10000 end) then
    raise exception 'invalid default % of definition %: %', p_setting,
      quote_literal(p_definition), left(v, 100) using errcode = 'PL001';
  end if;
  return v;
end $$;
