-- _read_marks: scan bounds, from the text that a worker sends back.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   claim, cycle
--
-- With a DateStyle of its own, here and in _write_marks: in others a time loses its zone, or is read as another.
create or replace function plait._read_marks(p_text text) returns plait.marks
language plpgsql stable set datestyle = 'ISO, YMD' as $$
begin
  return p_text::plait.marks;
end $$;
