-- _probes: the top-level fields of a JSON object that hold text, a number or a boolean, each as one word for an index, in order of their names.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_event, _signal_event_waits
--
-- Numbers that are equal have the same word, as `@>` takes them for equal.
create or replace function plait._probes(p_data jsonb) returns text[]
language sql immutable as $$
  select coalesce(array_agg(md5(e.key || '=' || case jsonb_typeof(e.value) when 'number' then trim_scale((e.value #>> '{}')::numeric)::text
                                                else e.value::text end) order by e.key), '{}')
  from jsonb_each(p_data) e where jsonb_typeof(e.value) in ('string', 'number', 'boolean')
$$;
