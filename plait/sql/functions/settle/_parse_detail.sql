-- _parse_detail: parse the detail that a worker sent with an outcome, so that it can be stored.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: NUL and lone surrogates are replaced, an invalid number is left out, and a
--            detail that is not a JSON object becomes the error
--   called   _settle, _settle_tied
create or replace function plait._parse_detail(
  p_detail text, out error text, out traceback text, out reason text, out permanent boolean,
  out delay_s float8, out pid int, out exit_code int, out failure json
) language plpgsql immutable as $$
declare v_detail json;
begin
  if p_detail is null then
    return;
  end if;
  for attempt in 1..2 loop
    begin
      v_detail := p_detail::json;
      exit when json_typeof(v_detail) <> 'object';
      error := v_detail ->> 'error';
      traceback := v_detail ->> 'traceback';
      reason := v_detail ->> 'reason';
      permanent := v_detail ->> 'permanent' = 'true';
      delay_s := substring(
        v_detail ->> 'delay_s' from '^-?\d{1,15}(?:\.\d+)?(?:[eE][+-]?\d{1,2})?$')::float8;
      delay_s := case when delay_s is not null then least(greatest(0, delay_s), 3.2e9) end;
      pid := substring(v_detail ->> 'pid' from '^-?\d{1,9}$')::int;
      failure :=
        case when json_typeof(v_detail -> 'failure') = 'object' then v_detail -> 'failure' end;
      exit_code := substring(v_detail ->> 'exit_code' from '^-?\d{1,9}$')::int;
      return;
    exception when data_exception or program_limit_exceeded then
      p_detail := regexp_replace(
        p_detail, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g');
    end;
  end loop;
  error := p_detail;
end $$;
