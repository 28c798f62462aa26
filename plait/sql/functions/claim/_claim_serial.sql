-- _claim_serial: claim from a serial queue: jobs of the workflow that holds it, otherwise one root.
--
--   moves    queued -> running
--   locks    the queue's row SKIP LOCKED, to claim a root; limits by try-locks; live rows SKIP
--            LOCKED. Never waits
--   raises   nothing
--   called   _claim
--
-- A workflow holds the queue until its last job is final, including jobs that wait, are in backoff
-- or are not yet due. There is no lock to release. The workflow's jobs are claimed deepest first,
-- so that started work is finished first, then by priority and age. Roots are claimed by priority
-- and age.
create or replace function plait._claim_serial(
  p_worker int, p_now timestamptz, p_queue text, p_limit int, p_definitions text[],
  out o_jobs uuid[], out o_attempts int[], out o_failed_attempts smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  c_first constant uuid := '00000000-0000-0000-0000-000000000000';
  c_last  constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_root  uuid := plait._serial_holder(p_queue);
  v_ids   uuid[];
  l       plait.live;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}';
  if v_root is null then
    perform from plait.queues where name = p_queue for update skip locked;
    if not found then
      return;  -- another claim is taking a root
    end if;
    v_root := plait._serial_holder(p_queue);
  end if;
  if v_root is null then
    p_limit := 1;
    v_ids := array(
      select c.job_id
      from (
        select y.*
        from unnest(plait._queued_tenants(p_queue, '', c_first, c_last, 1000)) t
        cross join lateral (
          select v.job_id, v.priority, v.run_at
          from plait.live v
          where v.queue = p_queue and v.lane = '' and v.state = 'queued' and v.tenant_id = t
            and v.definition = any(p_definitions)
          order by v.priority, v.run_at, v.job_id limit 3) y
        union all (select v.job_id, v.priority, v.run_at
                   from plait.live v
                   where v.queue = p_queue and v.lane <> '' and v.state = 'queued'
                     and v.definition = any(p_definitions)
                   order by v.priority, v.run_at, v.job_id limit 20)) c
      order by c.priority, c.run_at, c.job_id limit 50);
  else
    v_ids := array(
      select c.job_id
      from (
        select v.job_id, v.priority, v.run_at, 0 as depth
        from plait.live v
        where v.job_id = v_root and v.state = 'queued' and v.queue = p_queue
          and v.definition = any(p_definitions)
        union all
        select y.*, f.depth
        from plait.fan_outs f
        cross join lateral (
          select v.job_id, v.priority, v.run_at
          from plait.live v
          where v.root_id = v_root and v.fan_out_id = f.id and v.state = 'queued'
            and v.queue = p_queue and v.definition = any(p_definitions)
          order by v.priority, v.run_at, v.job_id limit p_limit * 4) y
        where f.root_id = v_root and f.succeeded + f.failed + f.canceled < f.total) c
      order by c.depth desc, c.priority, c.run_at, c.job_id limit p_limit * 4);
  end if;
  for l in
    select v.* from plait.live v where v.job_id = any(v_ids) and v.state = 'queued'
    order by array_position(v_ids, v.job_id) for update skip locked
  loop
    exit when cardinality(o_jobs) >= p_limit;
    continue when not plait._serves_lane(p_worker, l.lane);
    continue when l.lane like 'suspect%'
      and exists (select from plait.live v
                  where v.state = 'running' and v.worker = p_worker and v.lane like 'suspect%'
                    and v.suspect_group is distinct from l.suspect_group);
    continue when exists (select from plait.tenants t
                          where t.id = l.tenant_id and (t.paused or t.max_running is not null))
      and exists (select from plait._tenant_shares(array[l.tenant_id], 1) s where s.cap <= 0);
    if l.lane <> '' then
      continue when plait._capacity(l.definition, l.tenant_id, l.limit_key, p_now) <= 0;
      perform plait._capacity(l.definition, l.tenant_id, l.limit_key, p_now, 1);
    end if;
    update plait.live set
      state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
    where job_id = l.job_id;
    o_jobs := o_jobs || l.job_id; o_attempts := o_attempts || l.attempt + 1;
    o_failed_attempts := o_failed_attempts || l.failed_attempts; o_max := o_max || l.max_attempts;
    if v_root is null then
      update plait.queues set roots = array[coalesce(l.root_id, l.job_id)] where name = p_queue;
    end if;
  end loop;
end $$;
