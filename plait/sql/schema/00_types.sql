-- The words of DESIGN: what a job can be, and how one execution of it can end.
-- plait/model/states.py holds the same words; tests/sql/test_states.py compares them.

create type plait.status as enum (
  'scheduled', 'queued', 'running', 'waiting',                          -- live: one row in plait.live
  'succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'           -- final: no row there
);

create type plait.ending as enum (
  'succeeded', 'failed', 'timeout', 'canceled', 'skipped', 'lost', 'released', 'snoozed', 'suspended'
);
