-- What connectors, artifacts, search keys and operations need.

-- Upgrades: which code may run beside the new.
alter table plait.installed add column oldest integer not null default 0;

-- Retention: how long a tenant's final jobs are kept, by status.
alter table plait.tenants add column retention jsonb not null default '{}' check (jsonb_typeof(retention) = 'object');
create index tenants_retention on plait.tenants (id) where retention <> '{}';

-- Artifacts: payloads and results that are too large for a row. What they are is here, their bytes are in a store of their own,
-- under the tenant's id and the artifact's. A job's payload or result names one by its hash; it is the job's alone.

create table plait.artifacts (
  id         uuid primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz,                            -- looked at by then: is there such a job? null: there was, and it is not forgotten
  doomed_at  timestamptz,                            -- nobody needs it: its bytes go, then this row
  size       bigint not null check (size > 0),
  kind       text not null check (kind in ('payload', 'result')),
  sha256     text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$')
);

create unique index artifacts_key on plait.artifacts (tenant_id, job_id, kind, sha256) where doomed_at is null;
create index artifacts_job on plait.artifacts (job_id);
create index artifacts_expiry on plait.artifacts (expires_at) where expires_at is not null;

alter table plait.artifacts enable row level security;
alter table plait.artifacts force row level security;
create policy owner on plait.artifacts to plait_owner using (true) with check (true);
create policy tenant on plait.artifacts for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));

-- The web UI: when a job that has ended was begun, and where.
create or replace view plait.job with (security_invoker = true) as
select j.id, j.tenant_id, j.definition, j.queue, j.priority, j.source, j.correlation_id, j.dedupe_key, j.idempotency_key,
       j.limit_key, j.payload, j.created_at, j.scheduled_for, j.timeout_s,
       coalesce(l.state, a.final) as status,
       coalesce(l.attempt, a.attempt) as attempt,
       l.tries, coalesce(l.max_attempts, j.max_attempts) as max_attempts,
       case when l.state in ('scheduled', 'queued') then l.run_at end as run_at,
       case when l.state = 'running' then l.worker end as worker,
       case when l.state = 'running' then l.run_at end as claimed_at,
       l.cancel_requested, l.lane,
       case when l.job_id is null then a.finished_at end as finished_at,
       case when l.job_id is null then a.result end as result,
       a.reason, a.error,
       case when l.state = 'running' then r.progress else a.progress end as progress,
       j.parent_id, j.root_id, j.fan_out_id, j.fan_out_index, j.depth, j.forked_from, l.wait_on, l.wake_at, j.source_ref,
       j.node,
       case when l.state = 'running' then l.run_at when l.job_id is null then coalesce(a.started_at, a.claimed_at) end as started_at,
       case when l.state = 'running' then l.worker else a.worker end as last_worker
from plait.jobs j
left join plait.live l on l.job_id = j.id
left join lateral (select * from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a on true
left join plait.running_state r on r.job_id = j.id and l.state = 'running' and r.attempt = l.attempt;

-- Views of the web UI that are embedded elsewhere: sessions that may do less than their key.
alter table plait.sessions add column role text constraint sessions_role check (role in ('viewer', 'operator'));
