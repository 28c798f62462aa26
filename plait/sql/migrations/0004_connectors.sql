-- What connectors, artifacts, search keys and operations need.

select;  -- nothing yet

-- Retention: how long a tenant's final jobs are kept, by status.
alter table plait.tenants add column retention jsonb not null default '{}' check (jsonb_typeof(retention) = 'object');
create index tenants_retention on plait.tenants (id) where retention <> '{}';
