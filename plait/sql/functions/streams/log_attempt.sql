-- log_attempt: store the tail of a running attempt's output, with its progress.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE, the row of running_state
--   raises   PL001 if the progress is not a JSON object; nothing for a lost lease: returns false
--   called   plait.store.workers.log_attempt
--
-- The last 65,536 characters each of stdout and stderr are kept. The caller replaces characters
-- that Postgres can't store in JSON.
create or replace function plait.log_attempt(
  p_worker int, p_job uuid, p_attempt int, p_stdout text default '', p_stderr text default '',
  p_progress json default null
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid;
  v_was    jsonb;
begin
  perform plait._require_read_committed();
  if json_typeof(p_progress) <> 'object' then
    raise exception 'progress must be a JSON object' using errcode = 'PL001';
  end if;
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker
  for key share;
  if not found then
    return false;
  end if;
  select r.progress::jsonb into v_was
  from plait.running_state r
  where r.job_id = p_job and r.attempt = p_attempt for update;
  v_was := case when jsonb_typeof(v_was) = 'object' then v_was else '{}' end;
  v_was := v_was || coalesce(p_progress::jsonb, '{}')
    || jsonb_build_object('stdout', right(coalesce(v_was ->> 'stdout', '') || p_stdout, 65536),
                          'stderr', right(coalesce(v_was ->> 'stderr', '') || p_stderr, 65536));
  insert into plait.running_state (job_id, tenant_id, attempt, updated_at, progress)
  values (p_job, v_tenant, p_attempt, plait.now(), v_was::json)
  on conflict (job_id) do update set
    attempt = excluded.attempt, updated_at = excluded.updated_at, progress = excluded.progress
  where running_state.attempt <= excluded.attempt;
  return true;
exception when data_exception or program_limit_exceeded then
  raise exception 'progress is not valid JSON: %', sqlerrm using errcode = 'PL001';
end $$;
