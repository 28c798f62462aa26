-- list_schemas: the JSON Schemas for payloads of these definitions. Not all have a schema.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.list_schemas
--
-- SQL itself can't check a payload. Callers that enqueue by name and triggers check it. Workers
-- check it before they start a job, with p_overridden: only schemas that an operator has set,
-- because the schema that code has registered may belong to a newer version of the code. If the
-- operator has removed the schema, it is {}, which allows any payload.
create or replace function plait.list_schemas(
  p_names text[], p_overridden boolean default false
) returns table (name text, schema text)
language sql stable security definer set search_path = plait, pg_temp
as $$
  select d.name, coalesce(d.schema, '{}')::text
  from plait.definitions d
  where d.name = any(p_names)
    and case when p_overridden then
               exists (select from plait.overrides o
                       where o.definition = d.name and o.setting = 'schema')
             else d.schema is not null end
  order by d.name $$;
