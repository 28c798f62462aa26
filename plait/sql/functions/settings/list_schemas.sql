-- list_schemas: the JSON Schemas for payloads of these definitions. Not all have a schema.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.list_schemas
--
-- SQL can't validate a payload against a JSON Schema. Callers that enqueue by name and triggers
-- validate payloads, and workers do so before they start a job.
create or replace function plait.list_schemas(p_names text[]) returns table (name text, schema text)
language sql stable security definer set search_path = plait, pg_temp
as $$
  select d.name, d.schema::text
  from plait.definitions d
  where d.name = any(p_names) and d.schema is not null
  order by d.name $$;
