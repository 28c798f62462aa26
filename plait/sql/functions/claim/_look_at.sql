-- _look_at: when a claim looks again from where its marks may move, and for tenants that have none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _advance, _claim, _take
--
-- It costs a look for each tenant. Of many, each leaves few dead entries behind: they can wait longer.
create or replace function plait._look_at(p_marks plait.marks) returns timestamptz
language sql immutable
return p_marks.seen_at + interval '20 ms' * (1 + coalesce(cardinality(p_marks.tenants), 0) / 25);
