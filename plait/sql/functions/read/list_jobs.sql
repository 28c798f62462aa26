-- list_jobs: jobs by the most common filters, newest first, as plain rows.
--
--   moves    nothing
--   locks    nothing
--   raises   the same as search_jobs
--   called   users
--
--   p_statuses         only jobs with one of these statuses
--   p_queue            only jobs of this queue
--   p_definition       only jobs of this definition
--   p_correlation_id   only jobs with this correlation id
--   p_parent           only children of this job
--   p_root             only descendants of this root job
--   p_fan_out          only children of this fan-out
--   p_has_children     true: only jobs with children; false: only jobs without children
--
--   select id, definition, status from plait.list_jobs(p_statuses => '{failed,dead_letter}');
--
-- Like search_jobs, it reads a bounded number of rows, but it does not return where the search
-- stopped. Use search_jobs to page through rare matches.
create or replace function plait.list_jobs(
  p_tenant uuid default null, p_all boolean default false, p_statuses text[] default null,
  p_queue text default null, p_definition text default null, p_correlation_id text default null,
  p_before uuid default null, p_limit int default 50, p_parent uuid default null,
  p_root uuid default null, p_fan_out uuid default null, p_has_children boolean default null
) returns setof plait.job
language sql stable security definer set search_path = plait, pg_temp as $$
  select (s.job).* from plait.search_jobs(
    p_tenant => p_tenant, p_all => p_all, p_statuses => p_statuses, p_queue => p_queue,
    p_definition => p_definition, p_correlation_id => p_correlation_id, p_parent => p_parent,
    p_root => p_root, p_fan_out => p_fan_out, p_has_children => p_has_children,
    p_before => p_before, p_limit => p_limit) s
  where (s.job).id is not null
$$;
