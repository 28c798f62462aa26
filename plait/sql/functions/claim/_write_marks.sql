-- _write_marks: scan bounds as text, for the worker to send back; see _read_marks.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   claim, cycle
create or replace function plait._write_marks(p_marks plait.marks) returns text
language plpgsql stable set datestyle = 'ISO, YMD' as $$
begin
  return p_marks::text;
end $$;
