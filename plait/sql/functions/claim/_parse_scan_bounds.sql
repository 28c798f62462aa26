-- _parse_scan_bounds: scan bounds from the text that a worker sends back.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   claim, cycle
--
-- This function and _format_scan_bounds set DateStyle: with other styles a timestamp loses its time
-- zone, or is parsed as a different time.
create or replace function plait._parse_scan_bounds(p_text text) returns plait.scan_bounds
language plpgsql stable set datestyle = 'ISO, YMD' as $$
begin
  return p_text::plait.scan_bounds;
end $$;
