-- _now_after_xid: assign the transaction's id, then read the clock: the run_at of a queued job.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   by more than a dozen functions
--
-- If a transaction gets its id after another transaction has read the clock, its run_at is later
-- than the time that was read. The scan bounds of claims rely on this order (_advance_scan_bounds).
create or replace function plait._now_after_xid() returns timestamptz
language plpgsql volatile as $$
declare v_xid xid8 := pg_current_xact_id();
begin
  return plait.now();
end $$;
