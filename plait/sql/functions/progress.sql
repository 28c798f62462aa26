-- progress: what a running attempt says of itself.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE, the state's row
--   raises   nothing for a lost lease: returns false
--   called   plait.store.workers.progress
create or replace function plait.progress(p_worker int, p_job uuid, p_attempt int, p_progress json) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid;
begin
  perform plait._require_read_committed();
  select tenant_id into v_tenant from plait.live
    where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker for key share;
  if not found then
    return false;
  end if;
  insert into plait.running_state (job_id, tenant_id, attempt, updated_at, progress)
  values (p_job, v_tenant, p_attempt, plait.now(), p_progress)
  on conflict (job_id) do update set attempt = excluded.attempt, updated_at = excluded.updated_at, progress = excluded.progress
    where running_state.attempt <= excluded.attempt;
  return true;
end $$;
