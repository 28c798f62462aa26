-- definition_queues: the queues for new jobs of these definitions, including overrides.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.definition_queues
create or replace function plait.definition_queues(p_definitions text[]) returns text[]
language sql stable security definer set search_path = plait, pg_temp
as $$
  select array(select distinct d.queue::text
               from plait.definitions d
               where d.name = any(p_definitions)
               order by 1) $$;
