-- _template_fault: why a template's payloads can never match a JSON Schema; null if they may.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _set_trigger
--
-- Checks type, required, additionalProperties, enum, const, properties and items; other keywords
-- are checked when the template is filled in. A value that is a single placeholder, {{event.x}},
-- may become any JSON value. A string that contains a placeholder stays a string.
create or replace function plait._template_fault(
  p_schema jsonb, p_template jsonb, p_at text default 'payload'
) returns text
language plpgsql immutable as $$
declare
  c_path  constant text :=
    '\{\{\s*(event|schedule|trigger|tenant)(\.[A-Za-z0-9_-]{1,100}){1,20}\s*\}\}';
  v_kind  text := jsonb_typeof(p_template);
  v_text  text := case when jsonb_typeof(p_template) = 'string' then p_template #>> '{}' end;
  v_types jsonb;
  v_fault text;
  v_key   text;
begin
  if jsonb_typeof(p_schema) = 'boolean' then
    return case when p_schema = 'false' then p_at || ': the schema allows no value' end;
  end if;
  if jsonb_typeof(p_schema) is distinct from 'object' or v_text ~ ('^' || c_path || '$') then
    return null;
  end if;
  v_types :=
    case jsonb_typeof(p_schema -> 'type') when 'string' then jsonb_build_array(p_schema -> 'type')
         when 'array' then p_schema -> 'type' end;
  if v_types is not null and not (v_types ? v_kind
      or v_kind = 'number' and v_types ? 'integer' and (p_template #>> '{}')::numeric % 1 = 0) then
    return format('%s must be of type %s, got %s', p_at,
                  (select string_agg(t, ' or ') from jsonb_array_elements_text(v_types) t), v_kind);
  end if;
  if p_template::text !~ c_path then
    if p_schema ? 'const' and p_schema -> 'const' <> p_template then
      return format(
        '%s must be %s, got %s', p_at, p_schema -> 'const', left(p_template::text, 100));
    end if;
    if jsonb_typeof(p_schema -> 'enum') = 'array'
       and not exists (select from jsonb_array_elements(p_schema -> 'enum') e
                       where e = p_template) then
      return format('%s must be one of %s, got %s', p_at, left((p_schema -> 'enum')::text, 300),
                    left(p_template::text, 100));
    end if;
  end if;
  if v_kind = 'object' then
    if jsonb_typeof(p_schema -> 'required') = 'array' then
      select min(k) into v_key
      from jsonb_array_elements_text(p_schema -> 'required') k
      where not p_template ? k;
      if v_key is not null then
        return format('%s.%s is missing, but the schema requires it', p_at, v_key);
      end if;
    end if;
    for v_key in select jsonb_object_keys(p_template) order by 1 loop
      if p_schema -> 'properties' ? v_key then
        v_fault := plait._template_fault(
          p_schema -> 'properties' -> v_key, p_template -> v_key, p_at || '.' || v_key);
      elsif p_schema -> 'additionalProperties' = 'false' and not p_schema ? 'patternProperties' then
        v_fault := format('%s.%s is not in the schema', p_at, v_key);
      end if;
      exit when v_fault is not null;
    end loop;
  elsif v_kind = 'array' and jsonb_typeof(p_schema -> 'items') in ('object', 'boolean')
        and not p_schema ? 'prefixItems' then
    for i in 0 .. jsonb_array_length(p_template) - 1 loop
      v_fault := plait._template_fault(
        p_schema -> 'items', p_template -> i, format('%s[%s]', p_at, i));
      exit when v_fault is not null;
    end loop;
  end if;
  return v_fault;
end $$;
