-- list_definitions: all job definitions.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.definitions.list_definitions, users
--
--   select name, queue, max_attempts, active from plait.list_definitions();
create or replace function plait.list_definitions() returns setof plait.definitions
language sql stable security definer set search_path = plait, pg_temp
as $$ select * from plait.definitions order by name $$;
