-- _take: claim up to p_limit jobs of one lane of one queue, fairly over tenants.
--
--   moves    queued -> running
--   locks    live rows, SKIP LOCKED: never waits
--   raises   nothing
--   called   _claim
--
-- A rotating window over the tenants that have queued rows here: a recursive skip over the index finds them without reading
-- their jobs, each gets its share, and what is left over goes to whoever has more. The window is never wider than the limit,
-- so every tenant in it gets at least one job, and the cursor passes nobody by. Where a window yields nothing (paused
-- tenants, definitions that this worker does not know) the next one is tried at once.
create or replace function plait._take(
  p_worker int, p_now timestamptz, p_queue text, p_lane text, p_limit int, p_definitions text[],
  inout p_cursor uuid, out o_jobs uuid[], out o_attempts int[], out o_tries smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  v_window  int := least(p_limit, 128);
  v_start   uuid := coalesce(p_cursor, '00000000-0000-0000-0000-000000000000');
  v_special boolean := exists (select from plait.tenants where paused or weight <> 1 or max_running is not null);
  v_tenants uuid[];
  v_shares  int[];
  v_caps    int[];
  v_n       int;
  v_got     int := 0;
  v_wrapped boolean := false;
  r         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  p_cursor := v_start;
  loop
    with recursive t(tenant_id, n) as (
      (select l.tenant_id, 1 from plait.live l
       where l.queue = p_queue and l.lane = p_lane and l.state = 'queued' and l.tenant_id > p_cursor order by l.tenant_id limit 1)
      union all
      (select y.tenant_id, t.n + 1 from t cross join lateral (
         select l.tenant_id from plait.live l
         where l.queue = p_queue and l.lane = p_lane and l.state = 'queued' and l.tenant_id > t.tenant_id order by l.tenant_id limit 1) y
       where t.n < v_window))
    select array_agg(tenant_id order by n), count(*) into v_tenants, v_n from t where not v_wrapped or tenant_id <= v_start;
    if v_n < v_window and not v_wrapped and v_start > '00000000-0000-0000-0000-000000000000' then
      v_wrapped := true;
      with recursive t(tenant_id, n) as (
        (select l.tenant_id, 1 from plait.live l
         where l.queue = p_queue and l.lane = p_lane and l.state = 'queued' and l.tenant_id <= v_start order by l.tenant_id limit 1)
        union all
        (select y.tenant_id, t.n + 1 from t cross join lateral (
           select l.tenant_id from plait.live l
           where l.queue = p_queue and l.lane = p_lane and l.state = 'queued' and l.tenant_id > t.tenant_id and l.tenant_id <= v_start
           order by l.tenant_id limit 1) y
         where t.n < v_window - v_n))
      select coalesce(v_tenants, '{}') || coalesce(array_agg(tenant_id order by n), '{}'), v_n + count(*) into v_tenants, v_n from t;
    end if;
    exit when v_n = 0;

    v_caps := null;
    v_shares := array_fill(greatest(1, p_limit / v_n), array[v_n]);
    if v_special then
      select array_agg(s.share order by s.n), array_agg(s.cap order by s.n) into v_shares, v_caps
      from plait._shares(v_tenants, p_limit) s;
    end if;

    for pass in 1..2 loop
      with w as (
        update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
        where ctid = any(array(
          select y.ctid from unnest(v_tenants, v_shares) u(tenant_id, share) cross join lateral (
            select l.ctid from plait.live l
            where l.state = 'queued' and l.queue = p_queue and l.lane = p_lane and l.tenant_id = u.tenant_id
              and l.definition = any(p_definitions)
            order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y
          limit p_limit - v_got))
        returning job_id, attempt, tries, max_attempts, tenant_id
      )
      select array_agg(job_id) as jobs, array_agg(attempt) as attempts, array_agg(tries) as tries,
             array_agg(max_attempts) as max, array_agg(tenant_id) as tenants into r from w;
      exit when r.jobs is null;
      o_jobs := o_jobs || r.jobs; o_attempts := o_attempts || r.attempts; o_tries := o_tries || r.tries; o_max := o_max || r.max;
      v_got := cardinality(o_jobs);
      exit when v_got >= p_limit or v_n = 1;
      select array_agg(least(p_limit - v_got, u.cap - (select count(*) from unnest(r.tenants) t where t = u.tenant_id))::int order by u.n)
        into v_shares from unnest(v_tenants, v_caps) with ordinality u(tenant_id, cap, n);
    end loop;

    p_cursor := v_tenants[v_n];
    exit when v_got > 0 or v_n < v_window;
  end loop;
end $$;
