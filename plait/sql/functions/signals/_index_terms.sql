-- _index_terms: index terms for the top-level strings, numbers and booleans of an object, by key.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   await_event, _signal_event_waits
--
-- Equal numbers have the same term, because `@>` treats them as equal.
create or replace function plait._index_terms(p_data jsonb) returns text[]
language sql immutable as $$
  select coalesce(
    array_agg(md5(e.key || '='
                  || case jsonb_typeof(e.value) when 'number' then
                                                  trim_scale((e.value #>> '{}')::numeric)::text
                          else e.value::text end)
              order by e.key),
    '{}')
  from jsonb_each(p_data) e
  where jsonb_typeof(e.value) in ('string', 'number', 'boolean') $$;
