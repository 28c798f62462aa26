-- _code_definition: a definition as the code declares it, with defaults for missing values.
--
--   moves    nothing
--   locks    nothing
--   raises   what json_populate_record raises for invalid values
--   called   clear_overrides, define, list_overrides
create or replace function plait._code_definition(p_coded json) returns plait.definitions
language sql stable as $$
  select row(d.name, coalesce(d.kind, 'function'), true, coalesce(d.queue, 'default'),
             coalesce(d.priority, 100), coalesce(d.max_attempts, 5), coalesce(d.timeout_s, 3600),
             coalesce(d.backoff_base_s, 1), coalesce(d.backoff_factor, 2),
             coalesce(d.backoff_max_s, 3600), coalesce(d.backoff_jitter, 0.2), d.max_running,
             d.rate_count, d.rate_period_s, d.key_max_running, d.key_rate_count,
             d.key_rate_period_s, plait.now(), coalesce(d.child_mode, 'concurrent'),
             coalesce(d.on_child_failure, 'continue'), coalesce(d.allow_nested, true),
             coalesce(d.cancel_on_parent_failure, false), d.schema, coalesce(d.description, ''),
             d.on_node, coalesce(d.on_leader, false), coalesce(d.quorum, 'majority'),
             coalesce(d.quorum_timeout_s, 10), coalesce(d.on_timeout, 'proceed'),
             coalesce(d.on_node_failure, 'fail'), nullif(d.search_keys, '{}'), null, null, false,
             nullif(d.sensitive, '{}'), d.cancel_grace_s, d.deadline_s)::plait.definitions
  from json_populate_record(null::plait.definitions, p_coded) d
$$;
