-- _claim_lane: claim up to p_limit jobs of one lane of one queue, fairly across tenants.
--
--   moves    queued -> running
--   locks    live rows, SKIP LOCKED: never waits
--   raises   nothing
--   called   _claim, _claim_side_lanes
--
-- A claim serves a rotating window over the tenants that have queued jobs here. A recursive skip
-- scan of the index finds these tenants without reading their jobs. Each tenant gets its share; the
-- remainder is divided equally among tenants that have more jobs. Without weights, the window is
-- never wider than the limit, so every tenant in it gets at least one job, and the cursor skips no
-- tenant. With weights, the window has its maximum width, and shares below one job are assigned at
-- random. If a window yields no jobs (paused tenants, or definitions that this worker does not
-- have), the claim continues with the next window. A claim that has some jobs stops after four
-- windows.
-- Tenants without scan bounds are searched for at intervals, or when the tenants with bounds do not
-- have enough jobs. p_only: all jobs in the lane belong to this tenant, so fairness does not
-- matter. p_special: whether any tenant is paused, weighted or limited; null: not known.
--
-- Three statements select rows, and they cannot be merged. (1) The lanes have partial indexes:
-- live_claim for lane = '', live_lanes for lane <> ''. The server uses a partial index only if the
-- query implies its condition at planning time. These plans are generic, so lane = p_lane implies
-- neither condition: EXPLAIN shows a sequential scan of plait.live and a sort. (2) A claim without
-- scan bounds, as on every queue with few jobs, would evaluate _scan_ranges each time: a join and a
-- window function over its tenants.
create or replace function plait._claim_lane(
  p_worker int, p_now timestamptz, p_queue text, p_lane text, p_limit int, p_definitions text[],
  p_bounds plait.scan_bounds,
  inout p_cursor uuid, p_only uuid default null, p_special boolean default null, out o_jobs uuid[],
  out o_attempts int[], out o_failed_attempts smallint[], out o_max smallint[],
  out o_tenants uuid[], out o_priorities smallint[]
) language plpgsql as $$
declare
  v_weights boolean := false;
  v_window  int;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last    constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_start   uuid := coalesce(p_cursor, c_first);
  v_tenants uuid[];
  v_shares  int[];
  v_caps    int[];
  v_n       int;
  v_got     int := 0;
  v_windows int := 0;
  v_taken   int[];
  v_wrapped boolean := false;
  v_unbounded boolean := (p_bounds).tenants is null or p_now >= plait._rescan_at(p_bounds);
  v_single  uuid :=
    case when not v_unbounded and (p_bounds).tenants[1] = all((p_bounds).tenants) then
           (p_bounds).tenants[1] end;
  r         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}'; o_tenants := '{}';
  o_priorities := '{}';
  p_cursor := v_start;
  if p_special is null then
    p_special := exists (
      select from plait.tenants where paused or weight <> 1 or max_running is not null);
  end if;
  if p_special and p_only is null then
    v_weights := exists (select from plait.tenants where weight <> 1);
  end if;
  loop
    v_window := case when v_weights then 128 else least(p_limit - v_got, 128) end;
    if p_only is not null then
      v_tenants := array[p_only];
    elsif v_single is not null then
      v_tenants := array[v_single];
    else
      v_tenants := plait._queued_tenants(
        p_queue => p_queue, p_lane => p_lane, p_after => p_cursor,
        p_upto => case when v_wrapped then v_start else c_last end, p_limit => v_window,
        p_bounds => p_bounds, p_unbounded => v_unbounded);
      if cardinality(v_tenants) < v_window and not v_wrapped and v_start > c_first then
        v_wrapped := true;
        v_tenants := v_tenants || plait._queued_tenants(
          p_queue => p_queue, p_lane => p_lane, p_after => c_first, p_upto => v_start,
          p_limit => v_window - cardinality(v_tenants), p_bounds => p_bounds,
          p_unbounded => v_unbounded);
      end if;
    end if;
    v_n := cardinality(v_tenants);
    -- tenants with bounds have no more jobs: search for tenants without bounds now
    if v_n = 0 and not v_unbounded then
      v_unbounded := true;
      v_wrapped := false;
      p_cursor := v_start;
      continue;
    end if;
    exit when v_n = 0;

    v_caps := null;
    v_shares := array_fill(greatest(1, (p_limit - v_got) / v_n), array[v_n]);
    if p_special then
      select array_agg(s.share order by s.n), array_agg(s.cap order by s.n) into v_shares, v_caps
      from plait._tenant_shares(v_tenants, p_limit - v_got) s;
    end if;

    v_taken := array_fill(0, array[v_n]);
    for pass in 1..3 loop
      if p_lane = '' and (p_bounds).tenants is null then
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs,
               array_agg(y.attempt + 1) as attempts,
               array_agg(y.failed_attempts) as failed_attempts, array_agg(y.max_attempts) as max,
               array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
        into r
        from (
          select y.*
          from unnest(v_tenants, v_shares) u(tenant_id, share)
          cross join lateral (
            select l.ctid, l.job_id, l.attempt, l.failed_attempts, l.max_attempts, l.tenant_id,
                   l.priority
            from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = ''
              and l.tenant_id = u.tenant_id and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
          limit p_limit - v_got) y;
      elsif p_lane = '' then
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs,
               array_agg(y.attempt + 1) as attempts,
               array_agg(y.failed_attempts) as failed_attempts, array_agg(y.max_attempts) as max,
               array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
        into r
        from (
          select y.*
          from plait._scan_ranges(p_bounds, v_tenants) s
          cross join lateral (
            select l.ctid, l.job_id, l.attempt, l.failed_attempts, l.max_attempts, l.tenant_id,
                   l.priority
            from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = ''
              and l.tenant_id = s.tenant_id and (l.priority, l.run_at) >= (s.priority, s.starts_at)
              and l.priority < s.upto_priority and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit v_shares[s.n] for update skip locked) y
          limit p_limit - v_got) y;
      else
        select array_agg(y.ctid) as rows, array_agg(y.job_id) as jobs,
               array_agg(y.attempt + 1) as attempts,
               array_agg(y.failed_attempts) as failed_attempts, array_agg(y.max_attempts) as max,
               array_agg(y.tenant_id) as tenants, array_agg(y.priority) as priorities
        into r
        from (
          select y.*
          from unnest(v_tenants, v_shares) u(tenant_id, share)
          cross join lateral (
            select l.ctid, l.job_id, l.attempt, l.failed_attempts, l.max_attempts, l.tenant_id,
                   l.priority
            from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = p_lane and l.lane <> ''
              and l.tenant_id = u.tenant_id and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
          limit p_limit - v_got) y;
      end if;
      if r.rows is not null then
        update plait.live set
          state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
        where ctid = any(r.rows);
        o_jobs := o_jobs || r.jobs; o_attempts := o_attempts || r.attempts;
        o_failed_attempts := o_failed_attempts || r.failed_attempts; o_max := o_max || r.max;
        o_tenants := o_tenants || r.tenants; o_priorities := o_priorities || r.priorities;
        v_got := cardinality(o_jobs);
      end if;
      exit when v_got >= p_limit or v_n = 1;
      -- A tenant that got less than its share has no more jobs; the others share the remainder.
      select array_agg(v_taken[u.n] + u.got order by u.n),
             array_agg(case when u.got < u.share then 0
                            else greatest(0, least(u.cap - v_taken[u.n] - u.got, u.part)) end
                       order by u.n)
      into v_taken, v_shares
      from (select w.n, w.share, w.cap, w.got,
                   ceil((p_limit - v_got)::float8 / greatest(
                          1, count(*) filter (where w.got >= w.share) over ()))::int as part
            from (
              select x.n, x.share, x.cap, coalesce(g.got, 0) as got
              from unnest(v_tenants, v_shares, v_caps) with ordinality x(tenant_id, share, cap, n)
              left join (
                select t as tenant_id, count(*)::int as got from unnest(r.tenants) t group by t) g
                on g.tenant_id = x.tenant_id) w) u;
      exit when (select max(s) from unnest(v_shares) s) = 0;
    end loop;

    p_cursor := v_tenants[v_n];
    if v_single is not null and v_got < p_limit then
      v_single := null;
      v_unbounded := true;
      continue;
    end if;
    v_windows := v_windows + 1;
    exit when p_only is not null or v_got >= p_limit or v_n < v_window and v_unbounded
      or v_got > 0 and v_windows >= 4;
  end loop;
end $$;
