-- What is installed here, so that a process can tell that its code and the database fit.

create table plait.installed (
  one            boolean primary key default true check (one),
  version        integer not null,       -- the number of the last migration
  functions_hash text not null,          -- functions and grants are re-created when this differs
  updated_at     timestamptz not null default plait.now(),
  oldest         integer not null   -- code that was made for a schema this old, or newer, may run on this one
);
