-- retry: run a final job again, unless it succeeded.
--
--   moves    failed | dead_letter | canceled | skipped -> queued | scheduled
--   locks    the job's row, and its root's (retention skips them, a second operator waits); then as
--            _retry; then its fan-out
--   raises   PL001 bad argument, PL005 quota exceeded, PL008 no such job, PL009 when it is not
--            final or has succeeded, or when its fan-out is decided, PL013 when another job holds
--            its dedupe key
--   called   reschedule, plait.store.jobs.retry, users
--
--   p_run_at         start time. Default: now
--   p_max_attempts   maximum number of attempts. Default: the job's own
--   p_steps          `keep` or `drop`: what to do with the checkpoints of a durable job
--
--   select plait.retry(:'failed_job');
--
-- `attempt` is never reset; `failed_attempts` is reset to 0. Returns the job's new status.
create or replace function plait.retry(
  p_job uuid, p_tenant uuid default null, p_run_at timestamptz default null,
  p_max_attempts int default null, p_steps text default 'keep'
) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait._now_after_xid();
  v_tenant uuid := plait._tenant(p_tenant);
  v_job    plait.jobs;
  v_state  plait.status;
  v_final  plait.status;
  f        plait.fan_outs;
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
  if p_steps is null or p_steps not in ('keep', 'drop') then
    raise exception 'steps must be keep or drop, got %', coalesce(quote_literal(p_steps), 'null')
      using errcode = 'PL001';
  end if;
  select * into v_job from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if v_job.root_id is not null then
    perform from plait.jobs where id = v_job.root_id for key share;
  end if;
  select final into v_final from plait.attempts where job_id = p_job order by attempt desc limit 1;
  v_state := plait._retry(v_job, v_now, p_run_at, p_max_attempts, p_steps = 'drop');
  if v_job.fan_out_id is not null then
    select * into f from plait.fan_outs where id = v_job.fan_out_id for no key update;
    if f.decided_at is not null
       or f.strategy = 'nursery'
          and not exists (select from plait.live l where l.job_id = f.parent_id) then
      raise exception 'the fan-out of this job has been decided and its parent has resumed: retry the whole workflow'
        using errcode = 'PL009', detail = 'its root is job ' || v_job.root_id;
    end if;
    if f.serial then
      raise exception 'this job belongs to a serial nursery, and its turn in the nursery is over: retry the whole workflow'
        using errcode = 'PL009', detail = 'its root is job ' || v_job.root_id;
    end if;
    if f.streamed then
      raise exception 'the fan-out of this job is streamed, and its parent may already have read this job''s outcome: retry the whole workflow'
        using errcode = 'PL009', detail = 'its root is job ' || v_job.root_id;
    end if;
    update plait.fan_outs set
      succeeded = succeeded - (v_final = 'skipped')::int,
      canceled = canceled - (v_final = 'canceled')::int,
      failed = failed - (v_final in ('failed', 'dead_letter'))::int
    where id = f.id;
  end if;
  return v_state::text;
end $$;
