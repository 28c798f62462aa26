-- retry: an operator runs a final job again: any but a succeeded one.
--
--   moves    failed | dead_letter | canceled | skipped -> queued | scheduled
--   locks    the job's row (retention passes it by, a second operator waits), the tenant's where it has a quota, its dedupe key
--   raises   PL001 bad argument, PL005 quota, PL008 no such job, PL009 when it is not final or has succeeded, PL013 when another
--            job holds its dedupe key
--   called   plait.store.jobs.retry; reschedule
--
-- `attempt` goes on growing, `tries` starts again. The retry is written to the log as an attempt that never ran.
create or replace function plait.retry(
  p_job uuid, p_tenant uuid default null, p_run_at timestamptz default null, p_max_attempts int default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now     timestamptz := plait._moment();
  v_tenant  uuid := plait._tenant(p_tenant);
  v_job     plait.jobs;
  v_attempt int;
  v_final   plait.status;
  v_state   plait.status;
  v_metered boolean;
begin
  perform plait._require_read_committed();
  if p_max_attempts not between 1 and 10000 then
    raise exception 'max_attempts is between 1 and 10000, not %', p_max_attempts using errcode = 'PL001';
  end if;
  if p_run_at not between v_now - interval '100 years' and v_now + interval '100 years' then
    raise exception 'a job is scheduled within 100 years of now, not for %', p_run_at using errcode = 'PL001';
  end if;
  select * into v_job from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select attempt, final into v_attempt, v_final from plait.attempts where job_id = p_job order by attempt desc limit 1;
  if v_final is null or v_final = 'succeeded' or exists (select from plait.live where job_id = p_job) then
    raise exception 'a % job cannot be retried',
      coalesce((select state from plait.live where job_id = p_job), v_final, 'queued') using errcode = 'PL009';
  end if;
  v_metered := exists (select from plait.tenants where id = v_tenant and max_queued is not null);
  if v_metered then
    perform plait._reserve(v_tenant, 1);
  end if;
  if v_job.dedupe_key is not null then
    insert into plait.dedupe (tenant_id, key, job_id) values (v_tenant, v_job.dedupe_key, p_job) on conflict do nothing;
    if not found then
      raise exception 'another job holds the dedupe key %', quote_literal(v_job.dedupe_key) using errcode = 'PL013';
    end if;
  end if;
  v_now := plait.now();  -- it may have waited for a lock
  v_state := case when p_run_at > v_now then 'scheduled' else 'queued' end;
  insert into plait.live (job_id, tenant_id, run_at, attempt, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key, limit_key)
  values (p_job, v_tenant, case when p_run_at > v_now then p_run_at else v_now end, v_attempt + 1, v_job.priority,
          coalesce(p_max_attempts, v_job.max_attempts), v_state, v_metered, v_job.queue,
          plait._lane(v_job.definition, v_tenant, v_job.limit_key), v_job.definition, v_job.dedupe_key, v_job.limit_key);
  if v_metered then
    perform plait._reserve(v_tenant, 1, true);
  end if;
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (p_job, v_tenant, v_now, v_attempt + 1, 'released', 'retried');
  if v_state = 'queued' then
    perform plait._wake(array[v_job.queue], true);
  end if;
  return v_state::text;
end $$;
