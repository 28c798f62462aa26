-- The installed version, so that a process can check that its code is compatible with the database.

create table plait.installed (
  one            boolean primary key default true check (one),
  version        integer not null,       -- the number of the last migration
  functions_hash text not null,          -- functions and grants are re-created when this differs
  updated_at     timestamptz not null default plait.now(),
  -- the oldest schema version whose code may run on this database
  oldest         integer not null
);
