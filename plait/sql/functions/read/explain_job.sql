-- explain_job: why a job is not running: a code and a sentence for each reason.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.explain_job, users
--
--   select * from plait.explain_job(:'job');
create or replace function plait.explain_job(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (code text, explanation text)
language plpgsql volatile security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_now    timestamptz := plait.now();
  j        plait.job;
  t        plait.tenants;
  q        plait.queues;
  d        plait.definitions;
  v_ahead  bigint;
  v_n      bigint;
  v_root   uuid;
  v_leader record;
  v_leaderless boolean := not exists (
    select from plait.leader where name = 'main' and expires_at > plait.now());
begin
  select * into j from plait.get_job(p_job, p_tenant, p_all);
  case j.status
    when 'scheduled' then
      return query
        select 'scheduled', format('it is due in %s', date_trunc('second', j.run_at - v_now));
      if j.failed_attempts > 0 then  -- not `attempt`, which an operator's retry also increases
        return query
          select 'retrying',
                 format('%s of %s attempts have failed; the last: %s', j.failed_attempts,
                        j.max_attempts, coalesce(j.error, j.reason, '?'));
      end if;
      if v_leaderless then
        return query select 'no_leader', 'there is no leader to queue it when it is due';
      end if;
    when 'running' then
      return query
        select 'running',
               format('worker %s has been running it for %s', j.worker,
                      date_trunc('second', v_now - j.claimed_at));
      if not exists (select from plait.workers w
                     where w.id = j.worker and w.state = 'alive' and w.expires_at > v_now) then
        return query
          select 'lease_expired',
                 format(
                   'the lease of worker %s has expired: the job is requeued as soon as the leader '
                   'has noticed%s',
                   j.worker, case when v_leaderless then ', and there is no leader' else '' end);
      end if;
      if j.cancel_requested is not null then
        return query select 'cancel_requested', 'it was asked to stop';
      elsif exists (select from plait.live l
                    where l.job_id = p_job and l.cancel_by is not null) then
        return query
          select 'cancel_requested',
                 (select format('it was canceled; its handler may clean up for %s more',
                                date_trunc('second', l.cancel_by - v_now))
                  from plait.live l
                  where l.job_id = p_job);
      end if;
      return;
    when 'waiting' then
      return query
        select 'waiting',
               case
                 when j.wait_on = 'sleep' then
                   format('it sleeps for another %s', date_trunc('second', j.wake_at - v_now))
                 when j.wait_on like 'signal %' then
                   format('it waits for the signal %s', quote_literal(substr(j.wait_on, 8)))
                   || coalesce(
                     ', at most ' || date_trunc('second', j.wake_at - v_now) || ' more', '')
                 when j.wait_on like 'fan_out %' then
                   coalesce((select format(
                               'it waits for %s: %s of %s have succeeded, %s failed, %s canceled',
                               case when f.on_timeout is not null then
                                      format('its nodes (%s must finish)', f.needed)
                                    when f.strategy = 'nursery' then 'its children'
                                    when f.strategy = 'after' then 'jobs that it depends on'
                                    else format('its fan-out %s', f.id) end,
                               f.succeeded, f.total, f.failed, f.canceled)
                             from plait.fan_outs f
                             where f.id = substr(j.wait_on, 9)::uuid),
                            'it waits for a fan-out that does not exist')
                 when j.wait_on = 'several' then
                   (select format('it waits for the first of %s steps: %s', count(*),
                                  string_agg(distinct case when s.kind = 'join' then 'its children'
                                                           when s.kind = 'fan_out' then 'a fan-out'
                                                           when s.kind = 'timer' then 'a timeout'
                                                           else s.name end,
                                             ', '))
                    from plait.steps s
                    where s.job_id = p_job and not s.done and s.error is null)
                 when j.wait_on = 'turn' then
                   'it waits for its turn in a serial nursery'
                 else 'it waits for one of its steps' end;
      if v_leaderless and j.wake_at is not null then
        return query
          select 'no_leader', 'there is no leader to resume it when its wait is due';
      end if;
      return;
    when 'queued' then
      null;
    else
      return query
        select j.status::text,
               concat_ws(': ', format('it is %s', j.status), j.reason, j.error);
      return;
  end case;

  select * into t from plait.tenants where id = j.tenant_id;
  select * into q from plait.queues where name = j.queue;
  select * into d from plait.definitions where name = j.definition;
  if t.paused then
    return query select 'tenant_paused',
      format('tenant %s is paused%s', t.slug, coalesce(': ' || t.pause_reason, ''));
  end if;
  if q.paused then
    return query select 'queue_paused',
      format('queue %s is paused%s', q.name, coalesce(': ' || q.pause_reason, ''));
  end if;
  if not exists (select from plait.workers w
                 where w.state = 'alive' and w.expires_at > v_now and j.queue = any(w.queues)) then
    return query select 'no_worker', format('no live worker serves queue %s', j.queue);
  elsif not exists (select from plait.workers w
                    where w.state = 'alive' and w.expires_at > v_now and j.queue = any(w.queues)
                      and j.definition = any(w.definitions)) then
    return query
      select 'unknown_definition',
             format('workers serve queue %s, but none of them has the definition %s', j.queue,
                    j.definition);
  end if;
  if j.status <> 'queued' then
    return;
  end if;
  if plait._build_of_lane(j.lane) is not null
     and not exists (
       select from plait.workers w
       where w.state = 'alive' and w.expires_at > v_now
         and w.build = plait._build_of_lane(j.lane) and j.queue = any(w.queues)) then
    return query
      select 'build_away',
             format(
               'it started on build %s, and no live worker of that build serves queue %s; when no such worker has been seen for '
               'PLAIT_BUILD_FALLBACK seconds, any worker may run it',
               plait._build_of_lane(j.lane), j.queue);
  elsif j.reason = 'build_gone' then
    return query
      select 'build_gone',
             coalesce(j.error, 'its build has no workers left: any worker may run it');
  end if;
  if j.node is not null
     and not exists (select from plait.workers w
                     where w.state = 'alive' and w.expires_at > v_now and w.node = j.node) then
    return query
      select 'node_away',
             format('it must run on node %s, which is %s', j.node,
                    coalesce((select case when n.state = 'left' then 'gone' else 'lost' end
                              from plait.nodes n
                              where n.name = j.node),
                             'unknown'));
  end if;
  if j.lane in ('leader', 'suspect:leader') then
    select * into v_leader from plait.get_leader();
    if v_leader.holder is null then
      return query select 'no_leader', 'it must run on the leader, but there is no leader';
    elsif not exists (select from plait.workers w
                      where w.state = 'alive' and w.expires_at > v_now
                        and w.holder = v_leader.holder
                        and j.queue = any(w.queues) and j.definition = any(w.definitions)) then
      return query
        select 'leader_runs_no_such_job',
               format(
                 'it must run on the leader, but the leader %s has no worker that serves its queue and has its '
                 'definition',
                 v_leader.holder);
    end if;
    if d.on_node is not null
       and not exists (select from plait.steps s where s.job_id = j.id and s.name = 'nodes') then
      return query
        select 'nodes_not_asked',
               format(
                 'the leader starts it on the nodes once there are enough nodes for a quorum of %s',
                 d.quorum);
    end if;
  end if;
  if q.serial then
    v_root := plait._serial_holder(j.queue);
    if v_root <> coalesce(j.root_id, j.id) then
      return query
        select 'serial_queue',
               format('queue %s is serial, and %s holds it', j.queue,
                      case when exists (select from plait.jobs r
                                        where r.id = v_root and r.tenant_id = j.tenant_id) then
                             format('the workflow of job %s', v_root)
                           else 'a workflow of another tenant' end);
      return query
        select 'serial_deadlock',
               format(
                 'that workflow waits for queue %s, which the workflow of this job holds: cancel one of them',
                 d.queue)
        from plait._serial_deadlocks() d
        where d.waits = v_root and d.has = coalesce(j.root_id, j.id);
    end if;
  end if;
  if q.max_running is not null then
    select count(*) into v_n from plait.live l where l.state = 'running' and l.queue = j.queue;
    if v_n >= q.max_running then
      return query
        select 'queue_full',
               format('queue %s runs %s jobs, and its limit is %s', j.queue, v_n, q.max_running);
    end if;
  end if;
  if t.max_running is not null then
    select count(*) into v_n from plait.live l where l.state = 'running' and l.tenant_id = t.id;
    if v_n >= t.max_running then
      return query
        select 'tenant_full',
               format('tenant %s runs %s jobs, and its limit is %s', t.slug, v_n, t.max_running);
    end if;
  end if;
  if d.max_running is not null then
    select count(*) into v_n
    from plait.live l
    where l.definition = j.definition and l.state = 'running' and l.lane <> '';
    if v_n >= d.max_running then
      return query
        select 'definition_full',
               format('definition %s runs %s jobs, and its limit is %s', j.definition, v_n,
                      d.max_running);
    end if;
  end if;
  if j.limit_key is not null and d.key_max_running is not null then
    select count(*) into v_n
    from plait.live l
    where l.definition = j.definition and l.tenant_id = j.tenant_id and l.limit_key = j.limit_key
      and l.state = 'running' and l.lane <> '';
    if v_n >= d.key_max_running then
      return query
        select 'key_full',
               format('key %s has %s running jobs, and its limit is %s', j.limit_key, v_n,
                      d.key_max_running);
    end if;
  end if;
  if q.rate_count is not null then
    v_n := plait._rate_tokens('queue ' || j.queue, q.rate_count, q.rate_period_s, v_now);
    return query
      select 'rate_limited',
             format('rate limit: queue %s starts at most %s jobs per %s s; %s may start now',
                    j.queue, q.rate_count, q.rate_period_s, v_n);
  end if;
  if d.rate_count is not null then
    return query
      select 'rate_limited',
             format('rate limit: definition %s starts at most %s jobs per %s s', j.definition,
                    d.rate_count, d.rate_period_s);
  end if;
  if j.limit_key is not null and d.key_rate_count is not null then
    return query
      select 'rate_limited',
             format('rate limit: definition %s starts at most %s jobs with key %s per %s s',
                    j.definition, d.key_rate_count, j.limit_key, d.key_rate_period_s);
  end if;
  if j.lane like 'suspect%' then
    return query
      select 'suspect',
             format(
               'its worker was lost more than once while the job was running. The job is one of %s queued suspects in its group and waits for a worker that runs no suspects of other groups',
               (select count(*)
                from plait.live l
                where l.queue = j.queue and l.lane = j.lane and l.lane <> '' and l.state = 'queued'
                  and l.suspect_group is not distinct from (
                    select v.suspect_group from plait.live v where v.job_id = j.id)));
  end if;
  select count(*) into v_ahead
  from (
    select from plait.live l
    where l.queue = j.queue and l.lane = j.lane and l.tenant_id = j.tenant_id and l.state = 'queued'
      and (l.priority, l.run_at, l.job_id) < (j.priority, j.run_at, j.id)
    limit 10000) s;
  if v_ahead > 0 then
    return query
      select 'behind',
             format('%s%s jobs of its tenant are ahead of it', v_ahead,
                    case when v_ahead = 10000 then ' or more' else '' end);
  else
    return query select 'next', 'it is the next job of its tenant';
  end if;
end $$;
