-- _require_active: raise an error if one of these definitions is inactive.
--
--   moves    nothing
--   locks    nothing
--   raises   PL007 inactive definition
--   called   _add_follow_ups, enqueue_many, fork, open_fan_out, _spawn
create or replace function plait._require_active(p_definitions text[]) returns void
language plpgsql stable as $$
declare
  v_bad text := (
    select min(d.name) from plait.definitions d where not d.active and d.name = any(p_definitions));
begin
  if v_bad is not null then
    raise exception 'definition % is inactive: it accepts no new jobs', quote_literal(v_bad)
      using errcode = 'PL007';
  end if;
end $$;
