-- _now_after_xid: now, for whoever puts a job into the queue.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
-- The transaction gets its number first, then the time: so a job that becomes queued in a transaction without a number yet has
-- a later run_at than any time that others have read before. The marks of _advance_scan_bounds rest on it.
create or replace function plait._now_after_xid() returns timestamptz
language plpgsql volatile as $$
declare v_xid xid8 := pg_current_xact_id();
begin
  return plait.now();
end $$;
