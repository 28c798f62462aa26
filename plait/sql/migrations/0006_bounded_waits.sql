-- Bounded waits, and the defects that an examination found.
-- Sections by subject; each part of the change adds its own.

-- Workers tell that a handler blocks their event loop.
alter table plait.workers add column blocked_since timestamptz, add column blocked_job uuid;
