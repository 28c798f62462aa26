-- define: register the definitions in an application's code. Writes only differences.
--
--   moves    nothing; queued jobs move to the lane of a new limit
--   locks    definitions in name order
--   raises   PL012 for an invalid or unknown setting; PL015 with p_new, if a definition exists
--   called   define_unknown, plait.store.definitions.define
--
-- p_definitions is a JSON array of objects whose keys are columns of plait.definitions. The code
-- provides defaults: `active` and operators' overrides (plait.overrides) do not change, and neither
-- do a description, search keys and sensitive fields that the code does not give ([] removes them).
-- A schema that older code has given is removed when the code gives none. With p_author a person
-- creates the definitions: the settings become overrides, and code that is registered later does
-- not revert them.
create or replace function plait.define(
  p_definitions json, p_new boolean default false, p_author text default null
) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  c         json;
  r         plait.definitions;
  v_old     plait.definitions;
  v_changed int := 0;
  v_bad     text;
begin
  perform plait._require_read_committed();
  select min(k) into v_bad
  from json_array_elements(p_definitions) d, json_object_keys(d) k
  where k not in (
    'name', 'kind', 'queue', 'priority', 'max_attempts', 'timeout_s', 'backoff_base_s',
    'backoff_factor', 'backoff_max_s', 'backoff_jitter', 'max_running', 'rate_count',
    'rate_period_s', 'key_max_running', 'key_rate_count', 'key_rate_period_s', 'child_mode',
    'on_child_failure', 'allow_nested', 'cancel_on_parent_failure', 'schema', 'description',
    'on_node', 'on_leader', 'quorum', 'quorum_timeout_s', 'on_timeout', 'on_node_failure',
    'search_keys', 'sensitive', 'cancel_grace_s', 'deadline_s');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  for c in select d from json_array_elements(p_definitions) d order by d ->> 'name' collate "C" loop
    r := plait._code_definition(c);
    select * into v_old from plait.definitions where name = r.name;
    if found and p_new then
      raise exception 'definition % already exists', quote_literal(r.name) using errcode = 'PL015';
    end if;
    if p_author is null then
      r.coded := (select jsonb_object_agg(e.key, e.value)
                  from jsonb_each(c::jsonb) e
                  where e.value <> 'null');
    else
      insert into plait.overrides (definition, setting, value, author)
      select r.name, e.key, e.value, p_author
      from jsonb_each(c::jsonb) e
      where e.key not in ('name', 'kind', 'on_node', 'on_leader')
      on conflict (definition, setting) do update set
        value = excluded.value, author = excluded.author, set_at = excluded.set_at;
    end if;
    if v_old.name is not null then
      r.active := v_old.active;
      if p_author is not null or not coalesce(v_old.coded ? 'schema', false) then
        r.schema := coalesce(r.schema, v_old.schema);
      end if;
      r.description := coalesce(nullif(r.description, ''), v_old.description);
      r.search_keys :=
        case when c ->> 'search_keys' is null then v_old.search_keys else r.search_keys end;
      r.search_from := v_old.search_from;
      r.sensitive :=
        case when c ->> 'sensitive' is null then v_old.sensitive else nullif(r.sensitive, '{}') end;
    end if;
    r := plait._with_overrides(r);
    v_old.updated_at := r.updated_at;
    continue when v_old = r;
    perform plait._write_definition(r, p_new);
    v_changed := v_changed + 1;
  end loop;
  return v_changed;
exception when check_violation or not_null_violation or numeric_value_out_of_range
  or invalid_text_representation then
  raise exception 'invalid definition: %', sqlerrm using errcode = 'PL012';
end $$;
