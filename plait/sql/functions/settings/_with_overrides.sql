-- _with_overrides: a definition with operators' overrides in place of the code's values.
--
--   moves    nothing
--   locks    nothing
--   raises   what jsonb_populate_record raises for invalid values
--   called   clear_overrides, define, set_definition
create or replace function plait._with_overrides(p_definition plait.definitions)
returns plait.definitions language plpgsql stable as $$
declare
  v_set jsonb := coalesce(
    (select jsonb_object_agg(o.setting, o.value)
     from plait.overrides o
     where o.definition = p_definition.name),
    '{}');
begin
  p_definition := jsonb_populate_record(p_definition, v_set);
  p_definition.inherits_attempts := coalesce(
    not p_definition.coded ? 'max_attempts' and not v_set ? 'max_attempts', false);
  return p_definition;
end $$;
