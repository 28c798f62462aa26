-- list_retention: tenants with their own retention times, in seconds by status; null: forever.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.tenants.list_retention, users
--
--   select slug, retention from plait.list_retention();
create or replace function plait.list_retention() returns table (slug text, retention text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select t.slug, t.retention::text from plait.tenants t where t.retention <> '{}' order by t.slug
$$;
