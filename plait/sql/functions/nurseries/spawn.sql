-- spawn: spawn a child of a job that is not final, from SQL.
--
--   moves    the same as _spawn
--   locks    with `attempt`, the live row of the given job FOR SHARE; then the same as _spawn
--   raises   the same as _spawn; PL001 without a parent, PL003 and PL004 for a tenant, PL008 if the
--            caller has no such job, PL009 if the job is final or no longer runs as this attempt
--   called   users
--
--   parent       id of the parent. Pass either this or `sibling_of`
--   sibling_of   id of a child whose parent gets the new child
--   attempt      number of that job's running attempt. The call fails with PL009 if the attempt no
--                longer runs
--
--   select plait.spawn('refresh_batch', '{"ids": [1, 2, 3]}', parent => :'job', priority => 20);
--   select plait.spawn('refresh_batch', '{"ids": [4]}', sibling_of => :'child');
--
-- For stored procedures, table triggers and other languages. Returns the child's id. With `attempt`
-- the call is fenced: a caller that has lost the lease cannot spawn a child. The parent cannot
-- become final before the transaction commits.
create or replace function plait.spawn(
  definition text, payload json default '{}', parent uuid default null,
  sibling_of uuid default null, attempt int default null, tenant text default null,
  queue text default null, priority int default null, max_attempts int default null,
  timeout interval default null, delay interval default null, dedupe_key text default null,
  limit_key text default null, id uuid default null
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id      uuid := coalesce(spawn.id, plait.uuidv7());
  v_tenant  uuid := plait._tenant(
    case when spawn.tenant is not null then plait.tenant_id(spawn.tenant) end);
  v_asking  uuid := coalesce(spawn.parent, spawn.sibling_of);
  v_nursery uuid := v_asking;
  j         plait.jobs;
begin
  perform plait._require_read_committed();
  if num_nonnulls(spawn.parent, spawn.sibling_of) <> 1 then
    raise exception 'spawn requires either parent or sibling_of' using errcode = 'PL001';
  end if;
  select * into j from plait.jobs where jobs.id = v_asking and jobs.tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', v_asking using errcode = 'PL008';
  end if;
  if exists (select from plait.jobs
             where jobs.id = v_id and jobs.tenant_id = v_tenant
               and jobs.definition = spawn.definition) then
    return v_id;  -- a repeated call
  end if;
  if spawn.attempt is not null then
    perform from plait.live l
    where l.job_id = v_asking and l.attempt = spawn.attempt and l.state = 'running' for share;
    if not found then
      raise exception 'job % is no longer running as attempt %', v_asking, spawn.attempt
        using errcode = 'PL009';
    end if;
  end if;
  if spawn.sibling_of is not null then
    if j.parent_id is null then
      raise exception 'job % has no parent, so it cannot have siblings', v_asking
        using errcode = 'PL009';
    end if;
    v_nursery := j.fan_out_id;
    select * into j from plait.jobs where jobs.id = j.parent_id;
  else
    perform plait._own_nursery(j);
  end if;
  return (plait._spawn(
    p_parent => j, p_nursery => v_nursery, p_ids => array[v_id],
    p_definitions => array[spawn.definition], p_payloads => array[spawn.payload::text],
    p_queues => array[spawn.queue], p_priorities => array[spawn.priority],
    p_max_attempts => array[spawn.max_attempts],
    p_timeouts_s => array[extract(epoch from spawn.timeout)::float8],
    p_delays_s => array[extract(epoch from spawn.delay)::float8],
    p_dedupe_keys => case when spawn.dedupe_key is not null then array[spawn.dedupe_key] end,
    p_limit_keys => array[spawn.limit_key], p_in_transaction => true))[1];
end $$;
