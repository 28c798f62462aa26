-- progress: store the progress of a running attempt, and the state of its job.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE, the rows of progress and state
--   raises   nothing for a lost lease: returns false
--   called   plait.store.workers.progress
--
-- Null leaves the progress or the state unchanged. A state that equals the last one is not written
-- again, so followers are not notified.
create or replace function plait.progress(
  p_worker int, p_job uuid, p_attempt int, p_progress json, p_state json default null
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid;
begin
  perform plait._require_read_committed();
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker
  for key share;
  if not found then
    return false;
  end if;
  if p_progress is not null then
    insert into plait.running_state (job_id, tenant_id, attempt, updated_at, progress)
    values (p_job, v_tenant, p_attempt, plait.now(), p_progress)
    on conflict (job_id) do update set
      attempt = excluded.attempt, updated_at = excluded.updated_at, progress = excluded.progress
    where running_state.attempt <= excluded.attempt;
  end if;
  if p_state is not null then
    insert into plait.job_states as s (job_id, tenant_id, updated_at, attempt, value)
    values (p_job, v_tenant, plait.now(), p_attempt, p_state)
    on conflict (job_id) do update set
      updated_at = excluded.updated_at, attempt = excluded.attempt, version = s.version + 1,
      value = excluded.value
    where s.attempt <= excluded.attempt and s.value::text <> excluded.value::text;
  end if;
  return true;
end $$;
