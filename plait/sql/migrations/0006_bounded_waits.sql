-- Bounded waits, and the defects that an examination found.
-- Sections by subject; each part of the change adds its own.
select 1;
