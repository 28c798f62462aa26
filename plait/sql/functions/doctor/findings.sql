-- findings: problems found in plait's own tables; examine reads the server's catalogue.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.health.diagnose, users
--
--   p_keep   the longest retention of final jobs. Default: forever
--
--   select level, code, finding, advice from plait.findings();
--
-- evidence: the numbers and names in the finding, as JSON.
create or replace function plait.findings(p_keep interval default null)
returns table (level text, code text, finding text, evidence jsonb, advice text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_now  timestamptz := plait.now();
  v_hour timestamptz := date_trunc('minute', v_now) - interval '1 hour';
begin
  return query
    select 'problem', 'unknown_definition',
           format(
             '%s queued jobs of %s on queue %s: workers serve the queue, but none has the definition',
             s.n, s.definition, s.queue),
           jsonb_build_object('definition', s.definition, 'queue', s.queue, 'jobs', s.n),
           'start a worker whose code has this definition, or cancel the jobs'
    from (select l.queue, l.definition, count(*) as n
          from plait.live l
          where l.state = 'queued'
          group by 1, 2) s
    where exists (select from plait.workers w
                  where w.state = 'alive' and w.expires_at > v_now and s.queue = any(w.queues))
      and not exists (select from plait.workers w
                      where w.state = 'alive' and w.expires_at > v_now and s.queue = any(w.queues)
                        and s.definition = any(w.definitions));
  return query
    select 'problem', 'no_worker',
           format('%s queued jobs on queue %s, and no live worker serves it', s.n, s.queue),
           jsonb_build_object('queue', s.queue, 'jobs', s.n),
           format('start a worker: plait worker APP --queues %s', s.queue)
    from (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
    where not exists (
      select from plait.workers w
      where w.state = 'alive' and w.expires_at > v_now and s.queue = any(w.queues));
  return query
    select 'warning', 'queue_paused', format('queue %s is paused with %s queued jobs', q.name, s.n),
           jsonb_build_object('queue', q.name, 'jobs', s.n),
           format('plait queues resume %s', q.name)
    from plait.queues q
    join (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
      on s.queue = q.name
    where q.paused;
  return query
    select 'warning', 'tenant_paused', format('tenant %s is paused with %s jobs', t.slug, s.n),
           jsonb_build_object('tenant', t.slug, 'jobs', s.n),
           format('plait tenants set %s --resume', t.slug)
    from plait.tenants t
    join (select l.tenant_id, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
      on s.tenant_id = t.id
    where t.paused;
  return query
    select 'warning', 'stale_worker',
           format('worker %s on %s was last seen %s s ago', w.id, w.host,
                  extract(epoch from plait.now() - w.seen_at)::int),
           jsonb_build_object(
             'worker', w.id, 'host', w.host,
             'seen_s', extract(epoch from plait.now() - w.seen_at)::int),
           case when w.expired then
                  'its lease has expired: it serves no queue, and the leader declares it lost'
                else 'it is declared lost when its lease expires; check its machine' end
    from plait.list_workers(p_state => 'stale') w;
  return query
    select 'warning', 'lost_workers',
           format('%s workers were lost within the hour, the last one, worker %s on %s, %s s ago; '
                  '%s of their jobs were requeued, %s became dead letters', count(*),
                  (array_agg(w.id order by w.ended_at desc, w.id desc))[1],
                  (array_agg(w.host order by w.ended_at desc, w.id desc))[1],
                  extract(epoch from v_now - max(w.ended_at))::int, sum(w.requeued),
                  sum(w.dead_lettered)),
           jsonb_build_object(
             'workers', count(*),
             'worker', (array_agg(w.id order by w.ended_at desc, w.id desc))[1],
             'requeued', sum(w.requeued), 'dead_lettered', sum(w.dead_lettered)),
           'check their machines for killed processes and memory shortage: plait workers history --state lost'
    from plait.workers w
    where w.state = 'lost' and w.ended_at > v_now - interval '1 hour'
    having count(*) > 0;
  return query
    select 'problem', 'blocked_loop',
           format('the event loop of worker %s on %s has been blocked for %s s%s', b.id, b.host,
                  b.blocked_s::int, coalesce(' by job ' || b.blocked_job, '')),
           jsonb_build_object(
             'worker', b.id, 'host', b.host, 'blocked_s', b.blocked_s::int, 'job', b.blocked_job),
           'use await in the handler, declare it with `def`, or set isolation="process". The worker exits after PLAIT_LOOP_TIMEOUT, and its log shows where the handler blocks'
    from plait.list_workers() b
    where b.state = 'alive' and b.blocked_since is not null;
  return query
    select 'problem', 'no_leader',
           'there is no leader: delayed jobs and retries do not start, and lost workers are not detected',
           jsonb_build_object('expired_at', (select max(e.expires_at) from plait.leader e)),
           'run plait leader, or plait worker without --no-leader'
    where not exists (select from plait.leader where expires_at > plait.now())
      and exists (select from plait.live);
  return query
    select 'problem', 'leader_runs_no_such_job',
           format('%s jobs of %s must run on the leader, but leader %s cannot run them', count(*),
                  l.definition, g.holder),
           jsonb_build_object('definition', l.definition, 'leader', g.holder, 'jobs', count(*)),
           'only workers that have this definition may lead: start all other workers with --no-leader, and do not run plait leader'
    from plait.get_leader() g
    join plait.live l on l.lane in ('leader', 'suspect:leader') and l.state = 'queued'
    where not exists (select from plait.workers w
                      where w.state = 'alive' and w.expires_at > v_now and w.holder = g.holder
                        and l.queue = any(w.queues)
                        and l.definition = any(w.definitions))
    group by l.definition, g.holder;
  return query
    select 'warning', 'lost_node',
           format('node %s has been lost for %s s, and %s parts of node jobs wait for it', n.name,
                  n.seen_s::int, n.open),
           jsonb_build_object('node', n.name, 'seen_s', n.seen_s::int, 'open', n.open),
           'check the machine. Parts that wait for the node are canceled when their node job ends'
    from plait.list_nodes() n
    where n.state = 'lost' and n.open > 0;
  return query
    select 'problem', 'overdue',
           format('%s scheduled jobs are overdue, the oldest by %s s', count(*),
                  extract(epoch from plait.now() - min(l.run_at))::int),
           jsonb_build_object(
             'jobs', count(*), 'oldest_s', extract(epoch from plait.now() - min(l.run_at))::int),
           'the leader promotes them: check that a leader is running'
    from plait.live l
    where l.state = 'scheduled' and l.run_at < plait.now() - interval '10 s'
    having count(*) > 0;
  return query
    select 'problem', 'overdue_waits',
           format('%s jobs wait for a time that has passed, the oldest by %s s', count(*),
                  extract(epoch from plait.now() - min(l.wake_at))::int),
           jsonb_build_object(
             'jobs', count(*), 'oldest_s', extract(epoch from plait.now() - min(l.wake_at))::int),
           'the leader resumes them: check that a leader is running'
    from plait.live l
    where l.wake_at < plait.now() - interval '10 s'
    having count(*) > 0;
  return query
    select 'problem', 'missed_resume',
           format('%s fan-outs are decided, but their parents still wait', count(*)),
           jsonb_build_object('fan_outs', count(*)),
           'the leader resumes them: check that a leader is running'
    from plait.fan_outs f
    where f.waited_for is not null and f.decided_at < plait.now() - interval '10 s'
    having count(*) > 0;
  return query
    select 'problem', 'serial_deadlock',
           format('the workflows of jobs %s and %s wait for each other''s serial queue, %s and %s',
                  a.waits, b.waits, b.queue, a.queue),
           jsonb_build_object(
             'jobs', jsonb_build_array(a.waits, b.waits),
             'queues', jsonb_build_array(b.queue, a.queue)),
           'cancel one of them: plait jobs cancel --tree. To prevent such deadlocks, let all workflows use these queues in the same order'
    from plait._serial_deadlocks() a
    join plait._serial_deadlocks() b on b.waits = a.has and b.has = a.waits and a.waits < b.waits;
  return query
    select 'problem', 'overdue_schedules',
           format('%s schedules are overdue, the oldest by %s s', count(*),
                  extract(epoch from plait.now() - min(t.next_at))::int),
           jsonb_build_object(
             'schedules', count(*),
             'oldest_s', extract(epoch from plait.now() - min(t.next_at))::int),
           'the leader fires them: check that a leader is running'
    from plait.triggers t
    where t.kind = 'schedule' and t.enabled and t.deleted_at is null and t.error is null
      and t.next_at < plait.now() - interval '10 s'
    having count(*) > 0;
  return query
    select 'problem', 'broken_trigger',
           format('trigger %s of tenant %s cannot fire: %s', t.label, n.slug, t.error),
           jsonb_build_object('trigger', t.label, 'tenant', n.slug, 'error', t.error),
           'correct it: plait triggers set'
    from plait.triggers t
    join plait.tenants n on n.id = t.tenant_id
    where t.enabled and t.deleted_at is null and t.error is not null;
  return query
    select 'problem', 'overdue_events',
           format('%s events have not been dispatched, the oldest for %s s', count(*),
                  extract(epoch from plait.now() - min(e.at))::int),
           jsonb_build_object(
             'events', count(*), 'oldest_s', extract(epoch from plait.now() - min(e.at))::int),
           'the leader dispatches them: check that a leader is running'
    from plait.events e
    where e.dispatched_at is null and e.at < plait.now() - interval '10 s'
    having count(*) > 0;
  return query
    select 'warning', 'refused_events',
           format('%s events of the last day failed to fire a trigger', count(*)),
           jsonb_build_object('events', count(*)), 'plait events list --failed --all-tenants'
    from plait.events e
    where e.error is not null and e.at > plait.now() - interval '1 day'
    having count(*) > 0;
  return query
    select 'warning', 'dead_letters', format('%s jobs are failed or dead letters', count(*)),
           jsonb_build_object('jobs', count(*)),
           'plait jobs list --all-tenants --status dead_letter'
    from (select from plait.attempts a
          where a.final in ('failed', 'dead_letter')
            and not exists (select from plait.attempts b
                            where b.job_id = a.job_id and b.attempt > a.attempt)
            and not exists (select from plait.live l where l.job_id = a.job_id)
          limit 10000) s
    having count(*) > 0;
  return query
    select 'problem', 'growing_dead_letters',
           format('%s jobs became dead letters in the last hour, and %s in the hour before', s.now,
                  s.before),
           jsonb_build_object('last_hour', s.now, 'hour_before', s.before),
           'a dependency may be down, or a deployment may have broken the jobs: plait jobs list --all-tenants --status dead_letter'
    from (select coalesce(sum(m.dead_letter) filter (where m.minute >= v_hour), 0) as now,
                 coalesce(sum(m.dead_letter) filter (where m.minute < v_hour), 0) as before
          from plait.minutes m where m.minute >= v_hour - interval '1 hour') s
    where s.now >= 10 and s.now > 2 * s.before;
  return query
    select 'problem', 'stuck_wait',
           format('%s jobs wait for sub-jobs that are no longer live, the oldest for %s s',
                  count(*), extract(epoch from v_now - min(s.run_at))::int),
           jsonb_build_object(
             'jobs', count(*), 'job', min(s.job_id::text),
             'oldest_s', extract(epoch from v_now - min(s.run_at))::int),
           'nothing will resume them: cancel them with plait jobs cancel, then run them again with plait jobs retry'
    from (select l.job_id, l.run_at
          from plait.live l
          left join plait.fan_outs f on f.id = substr(l.wait_on, 9)::uuid
          where l.state = 'waiting' and l.wait_on like 'fan_out %'
            and l.run_at < v_now - interval '1 minute'
            and (f.id is null
                 or f.decided_at is null and f.strategy <> 'after'
                    and not exists (select from plait.live c
                                    where c.root_id = f.root_id and c.fan_out_id = f.id))
          limit 1000) s
    having count(*) > 0;
  return query
    select 'warning', 'forgotten_wait',
           format(
             '%s jobs have waited for a signal for more than a week without a timeout', count(*)),
           jsonb_build_object('jobs', count(*), 'job', min(s.job_id::text)),
           'send the signal with plait jobs signal, or pass a timeout to wait_for_signal'
    from (select l.job_id
          from plait.live l
          where l.state = 'waiting' and l.wait_on like 'signal %' and l.wake_at is null
            and l.run_at < v_now - interval '7 days'
          limit 1000) s
    having count(*) > 0;
  return query
    select 'warning', 'retention_behind',
           format('%s jobs are past their retention time, the oldest by %s', count(*),
                  justify_hours(date_trunc('minute', v_now - p_keep - min(s.finished_at)))),
           jsonb_build_object(
             'jobs', count(*),
             'lag_s', extract(epoch from v_now - p_keep - min(s.finished_at))::int),
           'the leader deletes them: check that a leader is running, and read its log'
    from (select a.finished_at
          from (select j.id
                from plait.jobs j
                where j.id < plait._uuid_floor(v_now - p_keep) and j.root_id is null
                order by j.id limit 1000) j
          cross join lateral (select a.finished_at, a.final
                              from plait.attempts a
                              where a.job_id = j.id
                              order by a.attempt desc limit 1) a
          where a.final is not null and a.finished_at < v_now - p_keep - interval '1 day'
            and not exists (select from plait.live l where l.job_id = j.id)
            and not exists (select from plait.live l where l.root_id = j.id)) s
    having count(*) > 0;
  return query
    select 'warning', 'clock_skew',
           format(
             'the clock of host %s differs from the database''s by %s s', w.host, w.skew_s::int),
           jsonb_build_object(
             'host', w.host, 'worker', w.id, 'skew_s', round(w.skew_s::numeric, 1)),
           'synchronize the clock with NTP. No decision of plait depends on this clock, but logs and ids show wrong times'
    from (select distinct on (w.host) w.host, w.id,
                            (w.metadata ->> 'clock')::float8
                              - extract(epoch from w.started_at)::float8 as skew_s
          from plait.workers w
          where w.state = 'alive' and w.metadata ->> 'clock' is not null
          order by w.host, w.id desc) w
    where abs(w.skew_s) > 5;
end $$;
