-- cycle: settle the last batch and claim the next, in one round trip. The hot path.
--
--   moves    the same as settle and claim
--   locks    live rows of the outcomes, and their fan-outs, for at most 300 ms; with p_careful no
--            row that another transaction holds; then the worker's row FOR KEY SHARE, so that a
--            worker that is being declared lost gets no new jobs, and its heartbeat does not wait;
--            then the same as claim, which never waits
--   raises   PL001 for an unknown outcome; lock_not_available (55P03) if another transaction holds
--            a row of an outcome: nothing was changed, and the worker sends the batch again with
--            p_careful; nothing for a lost lease
--   called   plait.store.workers.cycle
--
-- o_stale: positions of outcomes that changed nothing. o_alive: false if the worker is lost; it
-- must then stop its handlers and register again. o_alone: whether no other worker serves its
-- queues (set only after a claim of 100 jobs or more). o_bounds: scan bounds, to be sent with the
-- next claims (_advance_scan_bounds). p_sleep: if nothing is claimed, enqueues notify this worker
-- from now on. A value that all claimed jobs share is returned once. p_careful: outcomes whose rows
-- another transaction holds are left out, and their positions are returned in o_busy. Without
-- p_careful the call waits for these rows, which costs nothing if no row is held.
create or replace function plait.cycle(
  p_worker int,
  p_queues text[], p_limits int[], p_cursors uuid[], p_lane_cursors text[],
  p_jobs uuid[], p_attempts int[], p_outcomes text[], p_results text[], p_details text[],
  p_ran_ms float8[], p_sleep boolean, p_bounds text[], p_careful boolean default false,
  out o_alive boolean, out o_stale int[], out o_cancel_jobs uuid[], out o_cancel_attempts int[],
  out o_cursors uuid[], out o_lane_cursors text[], out o_bounds text[],
  out o_jobs uuid[], out o_attempts int[], out o_failed_attempts smallint[], out o_max smallint[],
  out o_tenants uuid[], out o_definitions text[], out o_queues text[], out o_payloads text[],
  out o_timeouts float8[], out o_correlations text[], out o_alone boolean, out o_busy int[]
)
language plpgsql security definer set search_path = plait, pg_temp
set enable_seqscan = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan
set lock_timeout = '300ms' as $$
declare
  -- for the scan bounds
  v_seen   timestamptz := case when pg_current_xact_id_if_assigned() is null then plait.now() end;
  v_now    timestamptz :=
    case when cardinality(p_jobs) > 0 then plait._now_after_xid() else plait.now() end;
  v_bounds  plait.scan_bounds;
  v_worker record;
  v_asked  int := 0;
  c        record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform plait._require_read_committed();
  end if;
  if cardinality(p_jobs) > 0 then
    perform plait._check_outcomes(
      p_jobs => p_jobs, p_attempts => p_attempts, p_outcomes => p_outcomes,
      p_results => p_results, p_details => p_details, p_ran_ms => p_ran_ms);
    if p_careful then
      c := plait._settle_skip_locked(
        p_worker => p_worker, p_now => v_now, p_jobs => p_jobs, p_attempts => p_attempts,
        p_outcomes => p_outcomes, p_results => p_results, p_details => p_details,
        p_ran_ms => p_ran_ms);
      o_stale := c.o_stale;
      o_busy := c.o_busy;
    else
      o_stale := plait._settle(
        p_worker => p_worker, p_now => v_now, p_jobs => p_jobs, p_attempts => p_attempts,
        p_outcomes => p_outcomes, p_results => p_results, p_details => p_details,
        p_ran_ms => p_ran_ms);
    end if;
  end if;

  select w.definitions, w.asleep, w.queues,
         exists (select from plait.live l
                 where l.worker = p_worker
                   and (l.cancel_requested is not null or l.cancel_by is not null)) as cancels
  into v_worker
  from plait.workers w
  where w.id = p_worker and w.state = 'alive' for key share;
  o_alive := found;
  if not o_alive then
    return;
  end if;

  o_cursors := p_cursors;
  o_lane_cursors := p_lane_cursors;
  o_bounds := p_bounds;
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}';
  for i in 1..coalesce(cardinality(p_queues), 0) loop
    continue when coalesce(p_limits[i], 0) <= 0;
    v_asked := v_asked + p_limits[i];
    v_bounds := case when p_bounds[i] is not null then plait._parse_scan_bounds(p_bounds[i]) end;
    c := plait._claim(
      p_worker => p_worker, p_now => v_now, p_queue => p_queues[i], p_limit => p_limits[i],
      p_definitions => v_worker.definitions, p_seen_at => v_seen, p_cursor => p_cursors[i],
      p_lane_cursor => p_lane_cursors[i], p_bounds => v_bounds);
    if (c.p_bounds).seen_at is distinct from v_bounds.seen_at then
      o_bounds[i] := plait._format_scan_bounds(c.p_bounds);
    end if;
    o_cursors[i] := c.p_cursor;
    o_lane_cursors[i] := c.p_lane_cursor;
    if cardinality(c.o_jobs) > 0 then
      o_jobs := o_jobs || c.o_jobs; o_attempts := o_attempts || c.o_attempts;
      o_failed_attempts := o_failed_attempts || c.o_failed_attempts; o_max := o_max || c.o_max;
    end if;
  end loop;

  if cardinality(o_jobs) > 0 then
    -- attempt numbers are equal, so their order does not matter
    if o_attempts[1] = all(o_attempts) and o_failed_attempts[1] = all(o_failed_attempts)
       and o_max[1] = all(o_max) then
      select f.*
      into o_jobs, o_tenants, o_definitions, o_queues, o_payloads, o_timeouts, o_correlations
      from plait._fetch_claimed_alike(o_jobs) f;
      o_attempts := o_attempts[1:1]; o_failed_attempts := o_failed_attempts[1:1];
      o_max := o_max[1:1];
    else
      select f.*
      into o_jobs, o_attempts, o_failed_attempts, o_max, o_tenants, o_definitions, o_queues,
        o_payloads, o_timeouts, o_correlations
      from plait._fetch_claimed(o_jobs, o_attempts, o_failed_attempts, o_max) f;
    end if;
    if o_tenants[1] = all(o_tenants) then
      o_tenants := o_tenants[1:1];
    end if;
    if o_definitions[1] = all(o_definitions) then
      o_definitions := o_definitions[1:1];
    end if;
  end if;
  if cardinality(o_jobs) >= 100 then
    o_alone := not exists (
      select from plait.workers w
      where w.state = 'alive' and w.id <> p_worker and w.queues && v_worker.queues);
  end if;

  -- Only a full batch clears the flag: a worker with few jobs keeps it, so that it does not write
  -- its row for every job.
  if v_worker.asleep and v_asked > 0 and cardinality(o_jobs) = v_asked then
    update plait.workers set asleep = false where id = p_worker;
  elsif p_sleep and not v_worker.asleep and cardinality(o_jobs) = 0 then
    update plait.workers set asleep = true where id = p_worker;
  end if;

  if v_worker.cancels then
    select array_agg(l.job_id), array_agg(l.attempt) into o_cancel_jobs, o_cancel_attempts
    from plait.live l
    where l.worker = p_worker and (l.cancel_requested is not null or l.cancel_by is not null);
  end if;
end $$;
