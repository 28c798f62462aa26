-- _now_after_xid: assign the transaction's id, then read the clock: the run_at of a queued job.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
-- A transaction that gets its id later gets a later run_at than any time that others have read
-- before. The scan bounds of claims rely on this order (_advance_scan_bounds).
create or replace function plait._now_after_xid() returns timestamptz
language plpgsql volatile as $$
declare v_xid xid8 := pg_current_xact_id();
begin
  return plait.now();
end $$;
