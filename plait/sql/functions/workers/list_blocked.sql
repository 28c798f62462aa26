-- list_blocked: workers whose event loop was blocked by a handler at the last heartbeat.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   findings, plait.store.workers.list_blocked
--
-- Since when, and by which job; job_id is null if the worker could not tell.
create or replace function plait.list_blocked() returns table (worker int, since timestamptz, blocked_s float8, job_id uuid)
language sql stable security definer set search_path = plait, pg_temp as $$
  select w.id, w.blocked_since, greatest(0, extract(epoch from plait.now() - w.blocked_since))::float8, w.blocked_job
  from plait.workers w where w.blocked_since is not null and w.state <> 'gone'
$$;
