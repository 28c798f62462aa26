-- Triggers have a bound for each tenant, and those that were deleted are forgotten.

alter table plait.tenants add column max_triggers integer default 1000 check (max_triggers >= 0);

create index triggers_deleted on plait.triggers (deleted_at) where deleted_at is not null;
