-- list_schemas: the JSON Schemas of payloads of these definitions, where they have one.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.list_schemas
--
-- Schemas are checked by callers that enqueue by name, by triggers, and by the worker before the
-- start: SQL itself can't.
create or replace function plait.list_schemas(p_names text[]) returns table (name text, schema text)
language sql stable security definer set search_path = plait, pg_temp
as $$
  select d.name, d.schema::text
  from plait.definitions d
  where d.name = any(p_names) and d.schema is not null
  order by d.name $$;
