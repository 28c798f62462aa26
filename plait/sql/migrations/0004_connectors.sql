-- What connectors, artifacts, search keys and operations need.

-- Search keys.
alter table plait.definitions
  add column search_keys text[] check (cardinality(search_keys) between 1 and 10 and array_position(search_keys, null) is null
                                       and '' <> all(search_keys) and octet_length(search_keys::text) <= 1000),
  add column search_from uuid;
create table plait.search_values (
  tenant_id  uuid not null,
  definition text collate "C" not null,
  key        text collate "C" not null,
  value      text collate "C" not null,              -- the first 200 characters
  job_id     uuid not null,
  primary key (tenant_id, definition, key, value, job_id)
);
create index search_values_job on plait.search_values (job_id);
alter table plait.search_values enable row level security;
alter table plait.search_values force row level security;
create policy owner on plait.search_values to plait_owner using (true) with check (true);
create policy tenant on plait.search_values for select to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
