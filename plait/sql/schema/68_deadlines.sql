-- Deadlines of jobs, which include waits and retries. Only jobs with a deadline have a row.

create table plait.deadlines (
  job_id     uuid primary key,
  tenant_id  uuid not null,
  due_at     timestamptz,                            -- null: it was handled, or the job ended first
  deadline_s double precision not null check (deadline_s > 0 and deadline_s <= 3.2e9)
);
create index deadlines_due on plait.deadlines (due_at) where due_at is not null;

alter table plait.deadlines enable row level security;
alter table plait.deadlines force row level security;
create policy owner on plait.deadlines to plait_owner using (true) with check (true);
create policy tenant on plait.deadlines for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
