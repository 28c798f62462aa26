"""Invariants that hold in every database at any time. Each is a query that returns violations.

`violations` runs all queries in one statement, and so in one snapshot. It can run concurrently with any other transaction.
"""

from collections.abc import Mapping
from typing import Final

import asyncpg

INVARIANTS: Final = {
    "a job is live exactly once or final, never both, never neither": """
        select j.id from plait.jobs j
        left join plait.live l on l.job_id = j.id
        left join (select distinct on (job_id) job_id, final from plait.attempts
                   order by job_id, attempt desc) a on a.job_id = j.id
        where (l.job_id is not null) = (a.final is not null)""",
    "a live row, an attempt and a running state belong to a job": """
        select x.job_id from (select job_id from plait.live union all select job_id from plait.attempts
                              union all select job_id from plait.running_state) x
        where not exists (select from plait.jobs j where j.id = x.job_id)""",
    "attempts are numbered without gaps, and every execution but the running one has its row": """
        select j.id from plait.jobs j left join plait.live l on l.job_id = j.id
        left join (select job_id, count(*) as n, max(attempt) as last, min(attempt) as first
                   from plait.attempts group by job_id) a on a.job_id = j.id
        where a.n <> a.last or a.first <> 1
           or l.job_id is not null and coalesce(a.last, 0) <> l.attempt - (l.state = 'running')::int""",
    "only an operator's retry follows a final attempt": """
        select a.job_id from plait.attempts a
        join plait.attempts b on b.job_id = a.job_id and b.attempt = a.attempt + 1
        where a.final is not null and b.reason is distinct from 'retried'""",
    "a succeeded job is never opened again": """
        select a.job_id from plait.attempts a
        join plait.attempts b on b.job_id = a.job_id and b.attempt > a.attempt
        where a.final = 'succeeded'""",
    "a live job has an attempt left": "select job_id from plait.live where failed_attempts >= max_attempts",
    "a running job's worker is alive, or has ended and is not yet cleared": """
        select l.job_id from plait.live l left join plait.workers w on w.id = l.worker
        where l.state = 'running' and not coalesce(w.state = 'alive' or w.clearing, false)""",
    "a worker runs suspects of one group only": """
        select min(job_id::text)::uuid from plait.live where state = 'running' and lane like 'suspect%'
        group by worker having count(distinct coalesce(suspect_group, 0)) > 1""",
    "a dedupe key is held by exactly the live jobs that have one": """
        select coalesce(l.job_id, d.job_id) from (select * from plait.live where dedupe_key is not null) l
        full join plait.dedupe d on d.tenant_id = l.tenant_id and d.key = l.dedupe_key and d.job_id = l.job_id
        where l.job_id is null or d.job_id is null""",
    "an idempotency key stands for a job that exists": """
        select i.job_id from plait.idempotency i
        where not exists (select from plait.jobs j where j.id = i.job_id)""",
    "the state of a running attempt goes when the attempt ends": """
        select r.job_id from plait.running_state r
        where not exists (select from plait.live l where l.job_id = r.job_id and l.attempt = r.attempt
                          and l.state = 'running')""",
    "the rest of a quota is never more than it really is": """
        select t.id from plait.tenants t where t.quota_left >
          t.max_queued - (select count(*) from plait.live l where l.tenant_id = t.id and l.metered)""",
    "a fan-out counts each child that has ended, once": """
        select f.parent_id from plait.fan_outs f
        join (select j.fan_out_id, count(*) as total,
                     count(*) filter (where l.job_id is null and a.final in ('succeeded', 'skipped')) as succeeded,
                     count(*) filter (where l.job_id is null and a.final in ('failed', 'dead_letter')) as failed,
                     count(*) filter (where l.job_id is null and a.final = 'canceled') as canceled
              from plait.jobs j left join plait.live l on l.job_id = j.id
              left join (select distinct on (job_id) job_id, final from plait.attempts
                         order by job_id, attempt desc) a on a.job_id = j.id
              where j.fan_out_id is not null group by 1) c on c.fan_out_id = f.id
        where (f.total, f.succeeded, f.failed, f.canceled) <> (c.total, c.succeeded, c.failed, c.canceled)""",
    "a fan-out has all its children, and they know their place": """
        select f.parent_id from plait.fan_outs f
        where f.strategy <> 'after' and f.total <> (select count(distinct j.fan_out_index) from plait.jobs j where j.fan_out_id = f.id
                          and j.parent_id = f.parent_id and j.root_id = f.root_id and j.depth = f.depth
                          and j.tenant_id = f.tenant_id and j.fan_out_index between 0 and f.total - 1)""",
    "a fan-out is decided exactly when its strategy says so": """
        select f.parent_id from plait.fan_outs f
        where f.decision is distinct from 'timeout' and f.decided_at is null and f.strategy <> 'nursery'
          and (f.total - f.failed - f.canceled < f.needed
               or f.succeeded >= f.needed and (f.early or f.succeeded + f.failed + f.canceled = f.total))""",
    "a job that waits for a fan-out waits for one of its own that is not decided, or rescue knows": """
        select l.job_id from plait.live l left join plait.fan_outs f on 'fan_out ' || f.id = l.wait_on
        where l.wait_on like 'fan_out %' and (f.id is null or f.parent_id <> l.job_id or f.waited_for is null)""",
    "a nursery is decided exactly when its parent waits for it and all have ended": """
        select f.parent_id from plait.fan_outs f
        where f.strategy = 'nursery' and (f.decided_at is null and f.waited_for is not null or f.decided_at is not null)
          and (f.decided_at is not null) <> (f.succeeded + f.failed + f.canceled = f.total)
          and not (f.id = f.parent_id and exists (select from plait.fan_outs o where o.parent_id = f.id and o.strategy = 'nursery'
                   and o.succeeded + o.failed + o.canceled < o.total))
          and exists (select from plait.live l where l.job_id = f.parent_id)""",
    "of a serial nursery at most one child may start": """
        select f.parent_id from plait.fan_outs f join plait.live l on l.fan_out_id = f.id and l.wait_on is distinct from 'turn'
        where f.serial group by f.parent_id, f.id having count(*) > 1""",
    "whose own nursery is decided is final, or rescue knows": """
        select f.parent_id from plait.fan_outs f join plait.live l on l.job_id = f.parent_id
        where f.id = f.parent_id and f.decided_at is not null and f.waited_for is null""",
    "a job that succeeded has no child that is live, and nothing that is still to follow": """
        select j.id from plait.jobs j
        join (select distinct on (job_id) job_id, final from plait.attempts order by job_id, attempt desc) a on a.job_id = j.id
        where a.final = 'succeeded' and not exists (select from plait.live l where l.job_id = j.id)
          and (exists (select from plait.follow_ups u where u.job_id = j.id)
               or exists (select from plait.fan_outs f where f.parent_id = j.id and f.strategy = 'nursery'
                          and f.succeeded + f.failed + f.canceled < f.total))""",
    "a job that depends on another waits, and the other is live and tied": """
        select d.on_id from plait.dependencies d left join plait.live l on l.job_id = d.on_id
        where l.job_id is null or not l.tied""",
    "a step belongs to a job, and to a fan-out that exists": """
        select s.job_id from plait.steps s
        where not exists (select from plait.jobs j where j.id = s.job_id)
           or s.fan_out_id is not null and not exists (select from plait.fan_outs f where f.id = s.fan_out_id)""",
    "an artifact that is kept for good belongs to a job, and to its tenant": """
        select a.job_id from plait.artifacts a left join plait.jobs j on j.id = a.job_id
        where a.expires_at is null and j.tenant_id is distinct from a.tenant_id""",
    "an occasion of a trigger has its job, and no two have the same": """
        select f.job_id from plait.fires f where f.outcome = 'enqueued'
        group by 1 having count(*) > 1 or f.job_id is null
        union all
        select f.id from plait.fires f where f.outcome = 'enqueued' and f.at > plait.now() - interval '1 hour'
          and not exists (select from plait.jobs j where j.id = f.job_id and j.source_ref = coalesce(f.event_id, f.trigger_id)::text)
        union all
        select j.id from plait.jobs j where j.source in ('schedule', 'event') and j.created_at > plait.now() - interval '1 hour'
          and not exists (select from plait.fires f where f.job_id = j.id)""",
    "each failure is in the log of failures, or will be": """
        select a.job_id from plait.attempts a
        left join plait.failure_log l on l.job_id = a.job_id and l.attempt = a.attempt
        left join (select distinct job_id from plait.failure_changes) c on c.job_id = a.job_id
        where a.final in ('failed', 'dead_letter') and l.job_id is null and c.job_id is null""",
    "the log of failures knows which jobs were retried or deleted, or will": """
        select l.job_id from plait.failure_log l
        left join (select job_id, max(attempt) as last from plait.attempts group by 1) a on a.job_id = l.job_id
        left join (select distinct job_id from plait.failure_changes) c on c.job_id = l.job_id
        where l.current is distinct from (a.last = l.attempt) and c.job_id is null""",
    "failures are counted as the log has them": """
        select coalesce(g.last_job, l.job) from plait.failure_groups g
        full join (select tenant_id, definition, fingerprint, status, count(*) as failures, count(*) filter (where current) as jobs,
                          min(finished_at) as first_at, max(finished_at) as last_at,
                          (array_agg(job_id order by finished_at desc, job_id desc))[1] as job
                   from plait.failure_log group by 1, 2, 3, 4) l using (tenant_id, definition, fingerprint, status)
        where (g.failures, g.jobs, g.first_at, g.last_at, g.last_job) is distinct from (l.failures, l.jobs, l.first_at, l.last_at, l.job)
        union all
        select l.job from plait.failure_hours h
        full join (select tenant_id, definition, fingerprint, status, date_trunc('hour', finished_at, 'UTC') as hour, count(*) as failures,
                          (array_agg(job_id))[1] as job
                   from plait.failure_log group by 1, 2, 3, 4, 5) l using (tenant_id, definition, fingerprint, status, hour)
        where h.failures is distinct from l.failures""",
    "a live row says of its tree what the job says": """
        select l.job_id from plait.live l join plait.jobs j on j.id = l.job_id
        where (l.root_id, l.fan_out_id) is distinct from (j.root_id, j.fan_out_id)""",
    "a live row says of its job what the job says": """
        select l.job_id from plait.live l join plait.jobs j on j.id = l.job_id
        where (l.tenant_id, l.queue, l.definition) <> (j.tenant_id, j.queue, j.definition)
           or (l.priority, l.dedupe_key, l.limit_key)
              is distinct from (j.priority, j.dedupe_key, j.limit_key)""",
}

LIVENESS: Final = {
    "no job waits for a fan-out that is decided, or has what it waits for": """
        select l.job_id from plait.live l join plait.fan_outs f on 'fan_out ' || f.id = l.wait_on
        where f.decided_at is not null or f.strategy <> 'nursery' and f.succeeded + f.failed + f.canceled >= f.waited_for""",
    "no job waits for nothing": "select job_id from plait.live where state = 'waiting' and wait_on is null",
    "no job waits for a signal that is there": """
        select l.job_id from plait.live l join plait.signals s on s.job_id = l.job_id and l.wait_on = 'signal ' || s.name
        where not s.consumed""",
    "no job sleeps longer than it should": "select job_id from plait.live where wake_at <= plait.now()",
    "no job is scheduled for a time that has passed": """
        select job_id from plait.live where state = 'scheduled' and run_at <= plait.now()""",
    "no fan-out is open past its timeout": """
        select parent_id from plait.fan_outs where timeout_at <= plait.now() and decided_at is null""",
    "no serial turn is without a holder": """
        select l.job_id from plait.live l join plait.fan_outs f on f.id = l.fan_out_id
        where l.wait_on = 'turn' and not exists (select from plait.live t where t.job_id = f.turn)""",
    "no job runs without a lease": """
        select l.job_id from plait.live l join plait.workers w on w.id = l.worker
        where w.state <> 'alive' or w.expires_at < plait.now() - make_interval(secs => w.lease_s)""",
    "no job that was asked to stop runs past its grace": """
        select job_id from plait.live where cancel_requested < plait.now() - interval '60 s'""",
    "no follow-up is left behind": "select job_id from plait.follow_ups where late",
}
"""Invariants that hold after a round of the leader's duties: for each kind of wait, a duty ends it."""


async def violations(connection: asyncpg.Connection, rules: Mapping[str, str] = INVARIANTS) -> list[str]:
    """The violated invariants, each with some of the jobs that violate it."""
    names = list(rules)
    every = " union all ".join(
        f"(select {number}, x.* from ({sql}) x limit 5)" for number, sql in enumerate(rules.values())
    )
    async with connection.transaction():
        # Tables that grew since the last analyze: a nested loop over them would take minutes.
        await connection.execute("set local enable_nestloop = off")
        found = await connection.fetch(every)
        await connection.execute("set local enable_nestloop = on")
    return [f"broken: {names[number]}: {job}" for number, job in found]
