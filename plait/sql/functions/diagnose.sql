-- diagnose: what will hurt, or already does.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.health.diagnose; plait doctor
create or replace function plait.diagnose()
returns table (level text, code text, finding text, advice text)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select 'problem', 'unknown_definition',
           format('%s queued jobs of %s on queue %s: workers serve the queue, but none knows the definition', s.n, s.definition, s.queue),
           'start a worker whose code has this job, or cancel them'
    from (select l.queue, l.definition, count(*) as n from plait.live l where l.state = 'queued' group by 1, 2) s
    where exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues))
      and not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues) and s.definition = any(w.definitions));
  return query
    select 'problem', 'no_worker', format('%s queued jobs on queue %s, and no living worker serves it', s.n, s.queue),
           format('start one: plait worker APP --queues %s', s.queue)
    from (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s
    where not exists (select from plait.workers w where w.state = 'alive' and s.queue = any(w.queues));
  return query
    select 'warning', 'queue_paused', format('queue %s is paused with %s queued jobs', q.name, s.n), format('plait queues resume %s', q.name)
    from plait.queues q join (select l.queue, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.queue = q.name
    where q.paused;
  return query
    select 'warning', 'tenant_paused', format('tenant %s is paused with %s jobs', t.slug, s.n), format('plait tenants set %s --resume', t.slug)
    from plait.tenants t join (select l.tenant_id, count(*) as n from plait.live l where l.state = 'queued' group by 1) s on s.tenant_id = t.id
    where t.paused;
  return query
    select 'warning', 'stale_worker', format('worker %s on %s was last seen %s s ago', w.id, w.host, extract(epoch from plait.now() - w.seen_at)::int),
           'it is declared lost when its lease ends; look at its machine'
    from plait.workers w where w.state = 'alive' and w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2);
  return query
    select 'problem', 'no_leader', 'no leader: delayed jobs and retries do not start, lost workers are not noticed',
           'run plait leader, or plait worker without --no-leader'
    where not exists (select from plait.leader where expires_at > plait.now())
      and exists (select from plait.live);
  return query
    select 'problem', 'leader_runs_no_such_job', format('%s jobs of %s are for the leader, and %s, which leads, does not run them', count(*), l.definition, g.holder),
           'let only workers of that app lead: others with --no-leader, and no plait leader beside them'
    from plait.get_leader() g join plait.live l on l.lane in ('leader', 'suspect:leader') and l.state = 'queued'
    where not exists (select from plait.workers w where w.state = 'alive' and w.holder = g.holder and l.queue = any(w.queues) and l.definition = any(w.definitions))
    group by l.definition, g.holder;
  return query
    select 'warning', 'lost_node', format('node %s is lost since %s s, and %s parts of node jobs wait for it', n.name, n.seen_s::int, n.open),
           'look at the machine; what waits there is canceled when its job ends'
    from plait.list_nodes() n where n.state = 'lost' and n.open > 0;
  return query
    select 'problem', 'overdue', format('%s scheduled jobs are overdue, the oldest by %s s', count(*), extract(epoch from plait.now() - min(l.run_at))::int),
           'the leader promotes them; is one running?'
    from plait.live l where l.state = 'scheduled' and l.run_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'overdue_waits', format('%s jobs wait for a time that has passed, the oldest by %s s', count(*), extract(epoch from plait.now() - min(l.wake_at))::int),
           'the leader resumes them; is one running?'
    from plait.live l where l.wake_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'missed_resume', format('%s fan-outs are decided, and their parents still wait', count(*)), 'the leader resumes them; is one running?'
    from plait.fan_outs f where f.waited_for is not null and f.decided_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'serial_deadlock', format('the trees of jobs %s and %s wait for each other''s serial queue, %s and %s', a.waits, b.waits, b.queue, a.queue),
           'cancel one of them: plait jobs cancel --tree; let all trees take these queues in the same order'
    from plait._serial_deadlocks() a join plait._serial_deadlocks() b on b.waits = a.has and b.has = a.waits and a.waits < b.waits;
  return query
    select 'problem', 'overdue_schedules', format('%s schedules are overdue, the oldest by %s s', count(*), extract(epoch from plait.now() - min(t.next_at))::int),
           'the leader fires them; is one running?'
    from plait.triggers t where t.kind = 'schedule' and t.enabled and t.deleted_at is null and t.error is null
      and t.next_at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'problem', 'broken_trigger', format('trigger %s of tenant %s cannot fire: %s', t.label, n.slug, t.error), 'change it: plait triggers set'
    from plait.triggers t join plait.tenants n on n.id = t.tenant_id where t.enabled and t.deleted_at is null and t.error is not null;
  return query
    select 'problem', 'overdue_events', format('%s events wait for their triggers, the oldest since %s s', count(*), extract(epoch from plait.now() - min(e.at))::int),
           'the leader dispatches them; is one running?'
    from plait.events e where e.dispatched_at is null and e.at < plait.now() - interval '10 s' having count(*) > 0;
  return query
    select 'warning', 'refused_events', format('%s events of the last day were refused by a trigger', count(*)), 'plait events list --failed --all-tenants'
    from plait.events e where e.error is not null and e.at > plait.now() - interval '1 day' having count(*) > 0;
  return query
    select 'warning', 'dead_letters', format('%s jobs failed or are dead letters', count(*)), 'plait jobs list --all-tenants --status dead_letter'
    from (select from plait.attempts a where a.final in ('failed', 'dead_letter')
            and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
            and not exists (select from plait.live l where l.job_id = a.job_id) limit 10000) s having count(*) > 0;
  return query
    select 'warning', 'old_transaction', format('a transaction is open since %s s: dead rows pile up behind it', extract(epoch from clock_timestamp() - a.xact_start)::int),  -- clock: the server's own time stamps
           format('end it: pid %s, application %s', a.pid, coalesce(nullif(a.application_name, ''), '?'))
    from pg_stat_activity a where a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
      and a.backend_xmin is not null and a.xact_start < clock_timestamp() - interval '60 s';  -- clock: as above
  return query
    select 'warning', 'dead_rows', format('plait.live has %s dead rows beside %s live ones', s.n_dead_tup, s.n_live_tup), 'vacuum plait.live; look for old transactions'
    from pg_stat_user_tables s where s.relid = 'plait.live'::regclass and s.n_dead_tup > 50000 and s.n_dead_tup > 5 * s.n_live_tup;
end $$;
