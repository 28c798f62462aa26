-- _claim_suspects: claim suspects of one lane: jobs that have lost their workers more than once.
--
--   moves    queued -> running
--   locks    limits by try-locks; live rows SKIP LOCKED. Never waits
--   raises   nothing
--   called   _claim_side_lanes
--
-- A worker runs suspects of one group at a time, over all its queues and lanes, so a lost worker
-- shows which group the poison job is in (rescue). While a worker runs suspects, it claims only
-- from their group. Otherwise it claims from the group of the oldest suspect that may run now. Jobs
-- of a group need not run together: jobs that are paused, at a limit, locked or beyond p_limit run
-- later or on another worker. The limits of definition, key and tenant apply as for any job. The
-- search starts with a random tenant, so that no tenant can block the others forever.
create or replace function plait._claim_suspects(
  p_worker int, p_now timestamptz, p_queue text, p_lane text, p_definitions text[], p_limit int,
  out o_jobs uuid[], out o_attempts int[], out o_failed_attempts smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  c_tenants constant int := 64;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last    constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_from    uuid;
  v_tenants uuid[];
  v_group   bigint :=
    (select coalesce(l.suspect_group, 0) from plait.live l
     where l.state = 'running' and l.worker = p_worker and l.lane like 'suspect%' limit 1);
  v_room    int;
  k         record;
  t         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}';
  v_from := plait._random_tenant(p_queue, p_lane, c_first);
  v_tenants := array[v_from] || plait._queued_tenants(p_queue, p_lane, v_from, c_last, c_tenants);
  v_tenants := v_tenants
    || plait._queued_tenants(p_queue, p_lane, c_first, v_from, c_tenants - cardinality(v_tenants));
  for k in  -- jobs under the same limits
    select c.tenant_id, c.definition, c.limit_key,
           array_agg(c.job_id order by c.run_at, c.job_id) as jobs,
           (array_agg(c.suspect_group order by c.run_at, c.job_id))[1] as suspect_group
    from (select y.*
          from unnest(v_tenants) u(tenant_id)
          cross join lateral (
            select l.tenant_id, l.definition, l.limit_key, l.job_id, l.run_at,
                   coalesce(l.suspect_group, 0) as suspect_group
            from plait.live l
            where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued'
              and l.tenant_id = u.tenant_id and l.definition = any(p_definitions)
              and (v_group is null or coalesce(l.suspect_group, 0) = v_group)
            order by l.priority, l.run_at, l.job_id limit 500) y) c
    where not exists (select from plait.tenants s where s.id = c.tenant_id and s.paused)
    group by 1, 2, 3
    order by min(c.run_at), 1, 2, 3
  loop
    exit when cardinality(o_jobs) >= p_limit;
    v_room := least(p_limit - cardinality(o_jobs),
                    (select s.cap
                     from plait.tenants x
                     cross join lateral plait._tenant_shares(array[x.id], 1) s
                     where x.id = k.tenant_id and x.max_running is not null),
                    plait._capacity(k.definition, k.tenant_id, k.limit_key, p_now));
    continue when v_room <= 0;
    with c as materialized (
      select l.job_id
      from plait.live l
      where l.job_id = any(k.jobs) and l.state = 'queued' and l.lane = p_lane
        and coalesce(l.suspect_group, 0) = coalesce(v_group, k.suspect_group)
      order by l.run_at, l.job_id limit v_room for update skip locked
    ), u as (
      update plait.live l set
        state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
      from c
      where l.job_id = c.job_id
      returning l.job_id, l.attempt, l.failed_attempts, l.max_attempts
    )
    select array_agg(u.job_id) as jobs, array_agg(u.attempt) as attempts,
           array_agg(u.failed_attempts) as failed_attempts, array_agg(u.max_attempts) as max
    into t
    from u;
    continue when t.jobs is null;
    v_group := coalesce(v_group, k.suspect_group);
    perform plait._capacity(k.definition, k.tenant_id, k.limit_key, p_now, cardinality(t.jobs));
    o_jobs := o_jobs || t.jobs; o_attempts := o_attempts || t.attempts;
    o_failed_attempts := o_failed_attempts || t.failed_attempts; o_max := o_max || t.max;
  end loop;
end $$;
