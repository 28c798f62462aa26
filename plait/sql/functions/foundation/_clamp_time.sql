-- _clamp_time: a bound of a time range, limited to times that ids and intervals can represent.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   analytics, failure_history, failures, fan_out_load, history, latency, search_jobs
--
-- Infinite and out-of-range values become the first or the last such time.
create or replace function plait._clamp_time(p_at timestamptz) returns timestamptz
language sql immutable parallel safe
return greatest(
  least(p_at, timestamptz '9999-01-01 00:00:00+00'), timestamptz '1970-01-01 00:00:00+00');
