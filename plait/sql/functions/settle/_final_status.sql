-- _final_status: the final status for an outcome other than success; null if the job runs again.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _settle, _settle_tied
--
-- Only this function decides whether an outcome is final. For jobs of lost workers, rescue decides.
create or replace function plait._final_status(
  p_cancel_requested timestamptz, p_outcome text, p_permanent boolean, p_failed_attempts smallint,
  p_max_attempts smallint
) returns text
language sql immutable as $$
  select case when p_cancel_requested is not null then 'canceled'
              when p_outcome = 'skipped' then 'skipped'
              when p_outcome not in ('failed', 'timeout') then null
              when p_permanent then 'failed'
              when p_failed_attempts + 1 >= p_max_attempts then 'dead_letter' end
$$;
