-- Bounded waits, and the defects that an examination found.
-- Sections by subject; each part of the change adds its own.

-- Recovery after a worker's loss: suspects run in groups, which each further loss halves.
alter table plait.live add column suspect_group bigint;
alter table plait.workers add column suspects integer not null default 0;
