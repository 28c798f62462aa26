-- _rescan_at: when a claim looks again from where its marks may move, and for tenants that have none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _advance_scan_bounds, _claim, _claim_lane
--
-- It costs a look for each tenant. Of many, each leaves few dead entries behind: they can wait longer.
create or replace function plait._rescan_at(p_bounds plait.scan_bounds) returns timestamptz
language sql immutable
return p_bounds.seen_at + interval '20 ms' * (1 + coalesce(cardinality(p_bounds.tenants), 0) / 25);
