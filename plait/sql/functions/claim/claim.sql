-- claim: claim jobs of one queue, for workers that do not batch (HTTP, other languages).
--
--   moves    queued -> running
--   locks    the worker's row FOR KEY SHARE, and with SKIP LOCKED to store the cursor and whether
--            it sleeps; then the same as _claim, which never waits
--   raises   PL011 if the worker is lost or unknown
--   called   plait.store.workers.claim
--
-- p_sleep: if nothing is claimed, enqueues notify this worker from now on. The caller then polls
-- once more, for jobs that were enqueued just before.
create or replace function plait.claim(
  p_worker int, p_queue text, p_limit int default 1, p_sleep boolean default false
) returns table (job_id uuid, attempt int, failed_attempts int, max_attempts int, tenant_id uuid,
                 definition text, payload text, timeout_s float8, correlation_id text)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_definitions text[];
  v_cursor      jsonb;
  v_next        jsonb;
  v_asleep      boolean;
  v_sleeps      boolean;
  -- for the scan bounds
  v_seen        timestamptz :=
    case when pg_current_xact_id_if_assigned() is null then plait.now() end;
  v_bounds       text;
  c             record;
begin
  perform plait._require_read_committed();
  select w.definitions, w.cursors -> p_queue, w.asleep into v_definitions, v_cursor, v_asleep
    from plait.workers w where w.id = p_worker and w.state = 'alive' for key share;
  if not found then
    raise exception 'worker % is lost or unknown: register again', p_worker using errcode = 'PL011';
  end if;
  v_bounds := v_cursor ->> 2;
  c := plait._claim(
    p_worker => p_worker, p_now => plait.now(), p_queue => p_queue,
    p_limit => coalesce(p_limit, 1), p_definitions => v_definitions, p_seen_at => v_seen,
    p_cursor => (v_cursor ->> 0)::uuid, p_lane_cursor => v_cursor ->> 1,
    p_bounds => case when v_bounds is not null then plait._parse_scan_bounds(v_bounds) end);
  if (c.p_bounds).seen_at is not null then
    v_bounds := plait._format_scan_bounds(c.p_bounds);
  end if;
  -- The cursor makes claims fair across tenants. It is stored because workers that call this
  -- function keep no state between calls.
  perform from plait.workers where id = p_worker for no key update skip locked;
  -- long bounds are dropped, to keep the row small
  v_next := jsonb_build_array(
    c.p_cursor, c.p_lane_cursor, case when length(v_bounds) <= 4000 then v_bounds end);
  v_sleeps := case cardinality(c.o_jobs) when 0 then v_asleep or p_sleep
                   when p_limit then false
                   else v_asleep end;
  if found and (v_next is distinct from v_cursor or v_sleeps <> v_asleep) then
    update plait.workers set
      cursors = cursors || jsonb_build_object(p_queue, v_next), asleep = v_sleeps
    where id = p_worker;
  end if;
  return query
    select x.id, x.attempt, x.failed_attempts::int, x.max::int, j.tenant_id, j.definition,
           j.payload::text,
           plait._time_left(j.id, j.definition, coalesce(j.timeout_s, d.timeout_s)),
           j.correlation_id
    from unnest(c.o_jobs, c.o_attempts, c.o_failed_attempts, c.o_max)
         x(id, attempt, failed_attempts, max)
    join plait.jobs j on j.id = x.id
    left join plait.definitions d on d.name = j.definition
    where j.id = any(c.o_jobs)
    order by j.priority, j.id;
end $$;
