-- _rescan_at: when a claim next advances its scan bounds and searches for tenants without bounds.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _advance_scan_bounds, _claim, _claim_lane
--
-- The check costs one lookup for each tenant. With many tenants, each tenant leaves fewer dead
-- entries, so the interval is longer.
create or replace function plait._rescan_at(p_bounds plait.scan_bounds) returns timestamptz
language sql immutable
return p_bounds.seen_at + interval '20 ms' * (1 + coalesce(cardinality(p_bounds.tenants), 0) / 25);
