-- clear_overrides: remove an operator's overrides, so that the code's values apply.
--
--   moves    nothing
--   locks    the same as _write_definition
--   raises   PL008 no such definition, PL012 for a setting that is not overridden, PL014 if the
--            definition was changed since
--   called   plait.store.definitions.clear_overrides, users
--
--   p_name       name of the job definition
--   p_settings   settings to clear. Default: all
--
--   select plait.clear_overrides('send_mail');
--
-- If no code has declared the definition, the default settings apply. Returns how many overrides
-- were cleared.
create or replace function plait.clear_overrides(
  p_name text, p_settings text[] default null, p_unchanged_since timestamptz default null
) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r         plait.definitions;
  c         jsonb;
  v_cleared text[];
  v_bad     text;
begin
  perform plait._require_read_committed();
  select * into r from plait.definitions where name = p_name for update;
  if not found then
    raise exception 'there is no definition %', quote_literal(p_name) using errcode = 'PL008';
  end if;
  if r.updated_at <> p_unchanged_since then
    raise exception 'the definition was changed in the meantime: read it again'
      using errcode = 'PL014';
  end if;
  with gone as (
    delete from plait.overrides
    where definition = p_name and (p_settings is null or setting = any(p_settings))
    returning setting
  )
  select array_agg(setting) into v_cleared from gone;
  select min(s) into v_bad from unnest(p_settings) s where not s = any(coalesce(v_cleared, '{}'));
  if v_bad is not null then
    raise exception 'setting % of % is not overridden', quote_literal(v_bad), quote_literal(p_name)
      using errcode = 'PL012';
  end if;
  if v_cleared is null then
    return 0;
  end if;
  c := to_jsonb(
    plait._code_definition(coalesce(r.coded, jsonb_build_object('name', p_name))::json));
  r := plait._with_overrides(
    jsonb_populate_record(r, (select jsonb_object_agg(s, c -> s) from unnest(v_cleared) s)));
  r.updated_at := plait.now();
  perform plait._write_definition(r);
  return cardinality(v_cleared);
exception when check_violation or not_null_violation then
  raise exception 'these settings can only be cleared together: %', sqlerrm using errcode = 'PL012';
end $$;
