-- list_overrides: operators' overrides, each with the code's value, its author and its time.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.list_overrides, users
--
--   p_definition   only overrides of this definition
--
--   select definition, setting, value, author from plait.list_overrides();
create or replace function plait.list_overrides(p_definition text default null)
returns table (
  definition text, setting text, value text, code_value text, author text, set_at timestamptz)
language sql stable security definer set search_path = plait, pg_temp as $$
  select o.definition, o.setting, o.value::text,
         case when d.coded is not null then (c.coded -> o.setting)::text end, o.author, o.set_at
  from plait.overrides o
  join plait.definitions d on d.name = o.definition
  cross join lateral (
    select to_jsonb(
      plait._code_definition(coalesce(d.coded, jsonb_build_object('name', d.name))::json)) as coded
    offset 0) c
  where p_definition is null or o.definition = p_definition
  order by o.definition, o.setting
$$;
