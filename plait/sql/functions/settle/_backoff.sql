-- _backoff: seconds to wait before attempt n + 1: exponential backoff with jitter.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: all values are bounded (to 100 years) before use, so a failure can always be
--            recorded
--   called   _settle
create or replace function plait._backoff(
  p_failed_attempts int, p_base_s float8, p_factor float8, p_max_s float8, p_jitter float8
) returns float8
language sql volatile
return least(
  least(coalesce(p_base_s, 1), 3.2e9) * coalesce(p_factor, 2) ^ least(p_failed_attempts - 1, 60),
  coalesce(p_max_s, 3600), 3.2e9) * (1 + coalesce(p_jitter, 0.2) * (2 * random() - 1));
