-- list_blocked: workers whose event loop a handler blocks or blocked when they were last seen, since when, and in which job.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   findings, plait.store.workers.list_blocked
--
-- job_id is null where the worker could not tell.
create or replace function plait.list_blocked() returns table (worker int, since timestamptz, blocked_s float8, job_id uuid)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.blocked_since, greatest(0, extract(epoch from plait.now() - w.blocked_since))::float8, w.blocked_job
  from plait.workers w where w.blocked_since is not null and w.state <> 'gone'
$$;
