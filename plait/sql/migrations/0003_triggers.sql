-- Triggers have a bound for each tenant, those that were deleted are forgotten, and tenants take turns in the dispatch of events.

alter table plait.tenants add column max_triggers integer default 1000 check (max_triggers >= 0);

create index triggers_deleted on plait.triggers (deleted_at) where deleted_at is not null;

drop index plait.events_pending;
create index events_pending on plait.events (tenant_id, id) where dispatched_at is null;
