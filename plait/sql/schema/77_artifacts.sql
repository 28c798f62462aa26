-- Artifacts: payloads, results, results of steps and signals that are too large for a row. Their
-- bytes are in an object store, under the ids of the tenant and the artifact. An artifact belongs
-- to one job, whose payload or result refers to it by its hash.

create table plait.artifacts (
  id         uuid primary key,
  tenant_id  uuid not null,
  job_id     uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz,                            -- when to check that its job exists; null: the
                                                     -- check has found the job
  doomed_at  timestamptz,                            -- since when it is no longer needed; its bytes
                                                     -- are deleted, then this row
  size       bigint not null check (size > 0),
  kind       text not null check (kind in ('payload', 'result', 'step', 'signal')),
  sha256     text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$')
);

create unique index artifacts_key on plait.artifacts (tenant_id, job_id, kind, sha256)
  where doomed_at is null;
create index artifacts_job on plait.artifacts (job_id);
create index artifacts_expiry on plait.artifacts (expires_at) where expires_at is not null;

alter table plait.artifacts enable row level security;
alter table plait.artifacts force row level security;
create policy owner on plait.artifacts to plait_owner using (true) with check (true);
create policy tenant on plait.artifacts for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
