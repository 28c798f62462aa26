-- _format_scan_bounds: scan bounds as text, for the worker to send back.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   claim, cycle
create or replace function plait._format_scan_bounds(p_bounds plait.scan_bounds) returns text
language plpgsql stable set datestyle = 'ISO, YMD' as $$
begin
  return p_bounds::text;
end $$;
