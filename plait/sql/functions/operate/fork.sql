-- fork: create a job with another job's payload and the steps that it completed before p_from.
--
--   moves    nothing -> queued
--   locks    the source's row and its root's FOR KEY SHARE, so that retention skips them; the
--            tenant's row if it has a quota
--   raises   PL001 if a step before p_from is not done, PL005 quota exceeded, PL007 inactive
--            definition, PL008 no such job
--   called   plait.store.jobs.fork, users
--
--   p_from   number (seq) of the first step to run again
--
--   select plait.fork(:'failed_job');
--
-- Use it for debugging. Steps before p_from are kept; step p_from and all later steps run again.
-- Returns the new job's id. Fan-outs among the kept steps still belong to the old job, and so do
-- their children, spawned jobs and follow-ups: the new job neither waits for them nor creates them
-- again.
--
-- The new job gets an attempt that never ran, so that the worker that claims it reads its steps.
create or replace function plait.fork(p_job uuid, p_tenant uuid default null, p_from int default 1)
returns uuid language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now     timestamptz := plait._now_after_xid();
  v_tenant  uuid := plait._tenant(p_tenant);
  v_id      uuid := plait.uuidv7();
  v_metered boolean;
  v_open    text;
  j         plait.jobs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where id = p_job and tenant_id = v_tenant for key share;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  perform from plait.jobs r where r.id = j.root_id for key share;
  perform plait._require_active(array[j.definition]);
  select s.name into v_open
  from plait.steps s
  left join plait.fan_outs f on f.id = s.fan_out_id
  where s.job_id = p_job and s.seq < p_from
    -- a node job's step counts as done once its fan-out is decided
    and (
      not s.done and (f.on_timeout is null or f.decided_at is null)
      or s.due_at > v_now and s.kind = 'sleep' or s.fan_out_id is not null and f.decided_at is null)
  order by s.seq limit 1;
  if found then
    raise exception 'step % is not done: fork from this step or from an earlier step',
      quote_literal(v_open) using errcode = 'PL001';
  end if;
  v_metered := exists (select from plait.tenants where id = v_tenant and max_queued is not null);
  if v_metered then
    perform plait._reserve_quota(v_tenant, 1);
  end if;
  perform plait._insert_jobs(
    p_now => v_now, p_ids => array[v_id], p_definitions => array[j.definition],
    p_payloads => array[j.payload], p_source => 'manual', p_tenant => v_tenant,
    p_queues => array[j.queue], p_priorities => array[j.priority::int],
    p_max_attempts => array[j.max_attempts::int], p_timeouts_s => array[j.timeout_s],
    p_limit_keys => array[j.limit_key], p_correlation_id => j.correlation_id,
    p_nodes => array[j.node], p_metered => v_metered, p_forked_from => p_job);
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (v_id, v_tenant, v_now, 1, 'released', 'forked');
  insert into plait.steps (
    job_id, tenant_id, fan_out_id, at, due_at, seq, occurrence, attempt, done, name, kind, hash,
    value, error, branch, finished)
  select v_id, tenant_id, fan_out_id, v_now, due_at, seq, occurrence, 1, done, name, kind, hash,
         value, error, branch, finished
  from plait.steps
  where job_id = p_job and seq < p_from;
  insert into plait.forks (tenant_id, root_id, job_id)
  select v_tenant, coalesce(j.root_id, j.id), v_id
  union
  select v_tenant, f.root_id, v_id
  from plait.steps s
  join plait.fan_outs f on f.id = s.fan_out_id
  where s.job_id = v_id;
  perform plait._store_search_values(array[v_id], array[j.definition]);
  perform plait._set_deadlines(array[v_id], array[j.definition]);
  if v_metered then
    perform plait._reserve_quota(v_tenant, 1, true);
  end if;
  perform plait._wake_workers(array[j.queue], true);
  return v_id;
end $$;
