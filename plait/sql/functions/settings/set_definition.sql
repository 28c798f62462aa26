-- set_definition: override settings of a job definition, for all processes.
--
--   moves    nothing
--   locks    the same as _write_definition
--   raises   PL012 for an invalid or unknown setting, PL008 no such definition, PL014 if the
--            definition was changed since
--   called   plait.store.definitions.set_definition, users
--
--   p_name       name of the job definition
--   p_settings   a JSON object: `active`, `queue`, `priority`, `max_attempts`, `timeout_s`,
--                `backoff_base_s`, `backoff_factor`, `backoff_max_s`, `backoff_jitter`,
--                `max_running`, `rate_count`, `rate_period_s`, `key_max_running`, `key_rate_count`,
--                `key_rate_period_s`, `child_mode`, `on_child_failure`, `allow_nested`,
--                `cancel_on_parent_failure`, `schema`, `description`, `quorum`, `quorum_timeout_s`,
--                `on_timeout`, `on_node_failure`, `search_keys`, `sensitive`
--   p_author     author of the change, stored with the overrides. Default: the database user
--
--   select plait.set_definition('send_mail', '{"max_attempts": 10, "timeout_s": 30}');
--
-- Absent settings do not change; null removes a limit. Each setting except `active` becomes an
-- override: it takes precedence over the code until clear_overrides, even if a worker starts with
-- newer code. If the code's value is already the same, no override is created.
create or replace function plait.set_definition(
  p_name text, p_settings json, p_unchanged_since timestamptz default null,
  p_author text default null
) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r     plait.definitions;
  v_bad text;
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
  select min(k) into v_bad
  from json_object_keys(p_settings) k
  where k not in (
    'active', 'queue', 'priority', 'max_attempts', 'timeout_s', 'backoff_base_s', 'backoff_factor',
    'backoff_max_s', 'backoff_jitter', 'max_running', 'rate_count', 'rate_period_s',
    'key_max_running', 'key_rate_count', 'key_rate_period_s', 'child_mode', 'on_child_failure',
    'allow_nested', 'cancel_on_parent_failure', 'schema', 'description', 'quorum',
    'quorum_timeout_s', 'on_timeout', 'on_node_failure', 'search_keys', 'sensitive');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  insert into plait.overrides (definition, setting, value, author)
  select p_name, e.key, e.value, coalesce(p_author, session_user)
  from jsonb_each(p_settings::jsonb) e
  where e.key <> 'active' and (to_jsonb(r) -> e.key is distinct from e.value
    or exists (select from plait.overrides o where o.definition = p_name and o.setting = e.key))
  on conflict (definition, setting) do update set
    value = excluded.value, author = excluded.author, set_at = excluded.set_at
  where overrides.value <> excluded.value;
  r := plait._with_overrides(json_populate_record(r, p_settings));
  r.updated_at := plait.now();
  perform plait._write_definition(r);
exception when check_violation or not_null_violation or numeric_value_out_of_range
  or invalid_text_representation then
  raise exception 'invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;
