-- A job's status is the state in its live row, or the final status in its last attempt. Only this
-- view and search_jobs implement this rule.

create view plait.job with (security_invoker = true) as
select j.id, j.tenant_id, j.definition, j.queue, j.priority, j.source, j.correlation_id,
       j.dedupe_key, j.idempotency_key, j.limit_key, j.payload, j.created_at, j.scheduled_for,
       j.timeout_s, coalesce(l.state, a.final) as status,
       coalesce(l.attempt, a.attempt) as attempt,
       l.failed_attempts, coalesce(l.max_attempts, j.max_attempts) as max_attempts,
       case when l.state in ('scheduled', 'queued') then l.run_at end as run_at,
       case when l.state = 'running' then l.worker end as worker,
       case when l.state = 'running' then l.run_at end as claimed_at,
       l.cancel_requested, l.lane,
       case when l.job_id is null then a.finished_at end as finished_at,
       case when l.job_id is null then a.result end as result,
       a.reason, a.error,
       case when l.state = 'running' then r.progress else a.progress end as progress,
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on,
       l.wake_at, j.source_ref, j.node,
       -- start of the first attempt
       coalesce(f.at, case when l.state = 'running' then l.run_at end) as started_at,
       case when l.state = 'running' then l.worker else a.worker end as last_worker,
       -- Attempts that count against max_attempts, including the current one, but not suspensions,
       -- snoozes, releases and losses.
       case when l.job_id is null then
              coalesce(
                u.n,
                (a.claimed_at is not null and a.status not in ('lost', 'released', 'snoozed'))::int)
            else l.failed_attempts
                   + coalesce(l.state = 'running'
                                or a.status = 'suspended' and a.reason is distinct from 'continued'
                                or l.state = 'waiting' and a.status in ('failed', 'timeout'),
                              false)::int end as attempts_used,
       coalesce(j.runs, 1) as runs
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (
  select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join lateral (
  select coalesce(t.started_at, t.claimed_at) as at
  from plait.attempts t
  -- not an attempt that was released before it started
  where t.job_id = j.id and t.claimed_at is not null
    and not (t.status = 'released' and t.started_at >= t.finished_at)
  order by t.attempt limit 1) f on true
left join lateral (
  select (count(*) filter (where t.status in ('failed', 'timeout')) + (
            coalesce(max(t.attempt) filter (
                       where t.claimed_at is not null
                         and t.status in ('succeeded', 'skipped', 'canceled', 'suspended')),
                     0) > coalesce(max(t.attempt) filter (where t.status in ('failed', 'timeout')),
                                   0))::int)::int as n
  from plait.attempts t
  where t.job_id = j.id
    and t.attempt > coalesce((select max(r.attempt) from plait.attempts r
                              where r.job_id = j.id and r.reason in ('retried', 'continued')), 0)
  having l.job_id is null and a.attempt > 1) u on true
left join plait.running_state r
  on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;

-- A worker as readers see it. list_workers and worker_history return its rows.
--   stale     its heartbeat is overdue by half a lease, or its lease has expired
--   expired   its lease has expired, and rescue has not declared it lost yet: it serves no queue
create view plait.worker with (security_invoker = true) as
select w.id, w.state, w.host, w.pid, w.version, w.queues, w.definitions,
       case when w.state = 'alive' then w.running else 0 end as running,
       case when w.state = 'alive' then w.prefetched else 0 end as prefetched,
       w.metadata::text as metadata, w.started_at, w.seen_at, w.expires_at,
       greatest(0, extract(epoch from plait.now() - w.seen_at))::float8 as seen_s,
       w.state = 'alive'
         and (w.seen_at < plait.now() - make_interval(secs => w.lease_s / 2)
              or w.expires_at <= plait.now()) as stale,
       w.node, w.draining,
       coalesce(w.state = 'alive'
                  and w.holder = (select l.holder
                                  from plait.leader l
                                  where l.name = 'main' and l.expires_at > plait.now()),
                false) as leads,
       b.since as blocked_since,
       case when b.since is not null then
              greatest(0, extract(epoch from coalesce(w.ended_at, plait.now()) - b.since))::float8
            end as blocked_s,
       b.job as blocked_job, w.build,
       w.state = 'alive' and w.expires_at <= plait.now() as expired,
       w.ended_at, w.end_reason, w.clearing, w.held, w.requeued, w.dead_lettered, w.canceled,
       w.released
from plait.workers w
left join lateral (
  select w.blocked_since as since, w.blocked_job as job where w.state <> 'gone') b on true;
