-- list_jobs: a page of search_jobs by its commonest filters, as plain rows, for SQL by hand.
--
--   moves    nothing
--   locks    nothing
--   raises   as search_jobs
--   called   users
--
-- Bounded like search_jobs, but it does not say where a search stopped: use search_jobs to page
-- through rare matches.
create or replace function plait.list_jobs(
  p_tenant uuid default null, p_all boolean default false, p_statuses text[] default null,
  p_queue text default null, p_definition text default null, p_correlation_id text default null,
  p_before uuid default null, p_limit int default 50, p_parent uuid default null,
  p_root uuid default null, p_fan_out uuid default null, p_has_children boolean default null
) returns setof plait.job
language sql stable security definer set search_path = plait, pg_temp as $$
  select (s.job).*
  from plait.search_jobs(
    p_tenant, p_all, p_statuses, p_queue, p_definition, p_correlation_id => p_correlation_id,
    p_parent => p_parent, p_root => p_root, p_fan_out => p_fan_out,
    p_has_children => p_has_children, p_before => p_before, p_limit => p_limit) s
  where (s.job).id is not null
$$;
