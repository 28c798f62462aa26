-- worker_jobs: the jobs that were assigned to a worker when it was lost or left, at most 100.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.last_jobs, users
--
--   p_worker   id of the worker
--
--   select job_id, definition, status from plait.worker_jobs(7);
--
-- status is the present status of the job; definition and status are null if the job is deleted.
-- The column `held` of list_workers has the number of all these jobs.
create or replace function plait.worker_jobs(p_worker int)
returns table (job_id uuid, tenant_id uuid, definition text, status text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select u.id, j.tenant_id, j.definition, j.status::text
  from plait.workers w
  cross join lateral unnest(w.last_jobs) with ordinality u(id, n)
  left join plait.job j on j.id = u.id
  where w.id = p_worker
  order by u.n
$$;
