-- Bounded waits, and the defects that an examination found.
-- Sections by subject; each part of the change adds its own.

-- Workers tell that a handler blocks their event loop.
alter table plait.workers add column blocked_since timestamptz, add column blocked_job uuid;
-- Forks: which trees retention must keep for them.
create table plait.forks (
  tenant_id uuid not null,
  root_id   uuid not null,
  job_id    uuid not null,                           -- the fork
  primary key (tenant_id, root_id, job_id)
);
create index forks_job on plait.forks (job_id);
alter table plait.forks enable row level security;
alter table plait.forks force row level security;
create policy owner on plait.forks to plait_owner using (true) with check (true);
create policy tenant on plait.forks for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
insert into plait.forks (tenant_id, root_id, job_id)
select j.tenant_id, coalesce(s.root_id, s.id), j.id from plait.jobs j join plait.jobs s on s.id = j.forked_from where j.forked_from is not null
union
select j.tenant_id, f.root_id, j.id from plait.jobs j join plait.steps s on s.job_id = j.id join plait.fan_outs f on f.id = s.fan_out_id
where j.forked_from is not null and f.parent_id <> j.id;
-- Recovery after a worker's loss: suspects run in groups, which each further loss halves.
alter table plait.live add column suspect_group bigint;
alter table plait.workers add column suspects integer not null default 0;

-- Prefetched jobs are shown apart from running ones.
alter table plait.workers add column prefetched integer not null default 0;
