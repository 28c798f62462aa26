-- _resolve_options: the queue, priority and attempts of a new job: the precedence of options.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an invalid value in p_defaults
--   called   _add_follow_ups, enqueue_many, _insert_jobs
--
-- The first value that is set wins: the job's own; for max_attempts the parent's, if the definition
-- inherits it (inherits_attempts); the definition's, with an operator's overrides; the default in
-- the caller's code (p_defaults), for a definition that no worker has registered; the system
-- default. p_definition: the definition's row, null if it is not registered. Each option is one
-- expression without side effects, so that Postgres inlines the function into the statement that
-- joins the definition.
create or replace function plait._resolve_options(
  p_definition plait.definitions, p_name text, p_queue text, p_priority int, p_max_attempts int,
  p_parent_attempts int, p_defaults json
) returns table (queue text, priority int, max_attempts int)
language sql stable as $$
  select
    coalesce(p_queue, p_definition.queue,
             plait._caller_default(p_defaults, p_name, 'queue'), 'default'),
    coalesce(p_priority, p_definition.priority,
             plait._caller_default(p_defaults, p_name, 'priority')::int, 100),
    coalesce(p_max_attempts,
             case when p_definition.inherits_attempts then p_parent_attempts end,
             p_definition.max_attempts,
             plait._caller_default(p_defaults, p_name, 'max_attempts')::int, 5)
$$;
