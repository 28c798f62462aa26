-- _fingerprint: a short hash of an error's first line, without numbers, ids and quoted values.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _failure_deltas, search_jobs
create or replace function plait._fingerprint(p_error text) returns text
language sql immutable parallel safe
return left(
  md5(regexp_replace(regexp_replace(left(split_part(coalesce(p_error, ''), E'\n', 1), 300),
                                    $re$'[^']*'|"[^"]*"|`[^`]*`$re$, '?', 'g'),
                     '\m(0x)?[0-9a-f]*[0-9][0-9a-f]*(-[0-9a-f]+)*\M', '#', 'gi')),
  12);
