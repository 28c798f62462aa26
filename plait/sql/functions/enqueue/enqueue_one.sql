-- enqueue_one: enqueue one plain job on the shortest path, which is enough for most calls.
--
--   moves    nothing -> queued
--   locks    nothing
--   raises   PL004 for a login that is not trusted; otherwise nothing: returns false without doing
--            anything if an option is invalid or not handled here, and enqueue_many raises the
--            error
--   called   plait.store.jobs.enqueue_one
--
-- It has few statements, because each adds some microseconds of latency, and many more on an idle
-- server.
create or replace function plait.enqueue_one(
  p_id uuid, p_definition text, p_payload text, p_tenant uuid, p_queue text, p_priority int,
  p_max_attempts int
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now     timestamptz := plait._now_after_xid();
  v_clock   timestamptz := clock_timestamp();  -- clock: ids contain the real time
  v_payload json;
  v_queue   text;
  r         record;
begin
  if (plait._is_new_id(p_id, plait._uuid_floor(v_clock - interval '1 day'),
                       plait._uuid_floor(v_clock + interval '1 day'))
      and octet_length(p_payload) <= 1048576
      and coalesce(plait._is_queue_name(p_queue), true)
      and coalesce(p_priority between -32768 and 32767, true)
      and coalesce(p_max_attempts between 1 and 10000, true)
      and (pg_has_role(session_user, 'plait_client', 'member')
           or pg_has_role(session_user, 'plait_worker', 'member')
           or pg_has_role(session_user, 'plait_admin', 'member'))) is not true then
    perform plait._tenant(p_tenant);
    return false;
  end if;
  begin
    v_payload := p_payload::json;
  exception when data_exception or program_limit_exceeded then
    v_payload := 'null';
  end;
  select d.queue, d.priority, d.max_attempts,
         exists (select from plait.workers where asleep) as asleep
  into r
  from plait.tenants t
  join plait.definitions d on d.name = p_definition
  where d.active and d.kind <> 'node' and d.max_running is null and d.rate_count is null
    and d.search_keys is null and d.deadline_s is null and t.id = p_tenant and t.max_queued is null
    and not exists (select from plait.logins l where l.login = session_user);
  if not found or json_typeof(v_payload) <> 'object' then
    perform plait._tenant(p_tenant);
    return false;
  end if;
  v_queue := coalesce(p_queue, r.queue);
  insert into plait.jobs (
    id, tenant_id, created_at, priority, max_attempts, definition, queue, payload)
  values (p_id, p_tenant, v_now, coalesce(p_priority, r.priority),
          coalesce(p_max_attempts, r.max_attempts), p_definition, v_queue, v_payload)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into plait.live (
    job_id, tenant_id, run_at, priority, max_attempts, state, queue, definition)
  values (p_id, p_tenant, v_now, coalesce(p_priority, r.priority),
          coalesce(p_max_attempts, r.max_attempts), 'queued', v_queue, p_definition);
  if r.asleep then
    perform plait._wake_workers(array[v_queue], false);
  end if;
  return true;
end $$;
