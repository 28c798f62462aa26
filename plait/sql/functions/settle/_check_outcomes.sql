-- _check_outcomes: reject a malformed batch before anything is written.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001
--   called   cycle, settle
--
-- Without p_outcomes, all attempts have succeeded.
create or replace function plait._check_outcomes(
  p_jobs uuid[], p_attempts int[], p_outcomes text[], p_results text[], p_details text[],
  p_ran_ms float8[]
) returns void
language plpgsql immutable as $$
declare v_n int := cardinality(p_jobs);
begin
  if v_n is null or cardinality(p_attempts) is distinct from v_n or cardinality(p_outcomes) <> v_n
     or cardinality(p_results) <> v_n or cardinality(p_details) <> v_n
     or cardinality(p_ran_ms) <> v_n then
    raise exception 'jobs, attempts, outcomes, results, details and ran_ms must be arrays of equal length'
      using errcode = 'PL001';
  end if;
  if not p_outcomes <@ '{succeeded,failed,timeout,skipped,snoozed,released,canceled}'
     or array_position(p_outcomes, null) is not null then
    raise exception 'outcome must be succeeded, failed, timeout, skipped, snoozed, released or canceled'
      using errcode = 'PL001';
  end if;
end $$;
