-- _start_node_job: start the parts of a node job that was just enqueued; the job waits for them.
--
--   moves    waiting -> queued, for the leader, if there are too few nodes
--   locks    the same as _open_nodes
--   raises   the same as _open_nodes
--   called   enqueue_many
--
-- If there are too few nodes, the leader starts the parts later. Otherwise the job gets an attempt
-- 1 that never ran, so that the worker that later claims the job reads its steps.
create or replace function plait._start_node_job(p_now timestamptz, p_jobs uuid[], p_always boolean)
returns void language plpgsql as $$
declare
  j    plait.jobs;
  l    plait.live;
  v_id uuid;
begin
  for j in select * from plait.jobs where id = any(p_jobs) order by id loop
    select * into l from plait.live where job_id = j.id;
    v_id := plait._open_nodes(
      p_now => p_now, p_job => j, p_metered => l.metered, p_attempt => 1, p_seq => 1,
      p_always => p_always);
    if v_id is null then
      perform plait._resume_job(l);
      continue;
    end if;
    update plait.live set attempt = 1, wait_on = 'fan_out ' || v_id where job_id = j.id;
    insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
    values (j.id, j.tenant_id, p_now, 1, 'suspended', 'fan_out ' || v_id);
  end loop;
end $$;
