-- reschedule: change a job's start time or maximum number of attempts. A final job is retried.
--
--   moves    scheduled | queued -> scheduled | queued; failed | dead_letter | canceled | skipped as
--            retry
--   locks    the job's live row
--   raises   PL001 bad argument, PL008 no such job, PL009 when it runs, waits or has succeeded
--   called   plait.store.jobs.reschedule, users
--
--   p_run_at         start time. Default: unchanged
--   p_max_attempts   maximum number of attempts; must be more than the attempts used. Default:
--                    unchanged
--
--   select plait.reschedule(:'job', p_run_at => plait.now() + interval '1 hour');
create or replace function plait.reschedule(
  p_job uuid, p_tenant uuid default null, p_run_at timestamptz default null,
  p_max_attempts int default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait._now_after_xid();
  v_tenant uuid := plait._tenant(p_tenant);
  v_live   plait.live;
  v_state  plait.status;
begin
  perform plait._require_read_committed();
  if p_max_attempts not between 1 and 10000 then
    raise exception 'max_attempts must be between 1 and 10000, got %', p_max_attempts
      using errcode = 'PL001';
  end if;
  if p_run_at not between v_now - interval '100 years' and v_now + interval '100 years' then
    raise exception 'the start time must be within 100 years of now, got %', p_run_at
      using errcode = 'PL001';
  end if;
  select * into v_live
  from plait.live
  where job_id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    return plait.retry(p_job, v_tenant, p_run_at, p_max_attempts);
  end if;
  if v_live.state not in ('scheduled', 'queued') then
    raise exception 'a % job cannot be rescheduled', v_live.state using errcode = 'PL009';
  end if;
  if p_max_attempts <= v_live.failed_attempts then
    raise exception 'max_attempts must be more than the % attempts that the job has used, got %',
      v_live.failed_attempts, p_max_attempts using errcode = 'PL001';
  end if;
  v_now := plait.now();  -- this call may have waited for the lock
  v_state := case when p_run_at > v_now then 'scheduled'
                  when p_run_at is null then v_live.state
                  else 'queued' end;
  update plait.live set
    state = v_state,
    run_at = case when p_run_at is null then run_at
                  when p_run_at > v_now then p_run_at
                  when state = 'queued' then run_at
                  else v_now end,
    max_attempts = coalesce(p_max_attempts, max_attempts)
  where job_id = p_job;
  if v_state = 'queued' and v_live.state <> 'queued' then
    perform plait._wake_workers(array[v_live.queue], true);
  end if;
  return v_state::text;
end $$;
