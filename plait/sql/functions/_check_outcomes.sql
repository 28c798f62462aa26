-- _check_outcomes: refuse a malformed batch before anything is written.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001
--   called   settle, cycle
create or replace function plait._check_outcomes(p_jobs uuid[], p_attempts int[], p_outcomes text[]) returns void
language plpgsql immutable as $$
begin
  if cardinality(p_attempts) is distinct from cardinality(p_jobs) or cardinality(p_outcomes) is distinct from cardinality(p_jobs) then
    raise exception 'jobs, attempts and outcomes must be arrays of one length' using errcode = 'PL001';
  end if;
  if not p_outcomes <@ '{succeeded,failed,timeout,skipped,snoozed,released,canceled}' or array_position(p_outcomes, null) is not null then
    raise exception 'an outcome is succeeded, failed, timeout, skipped, snoozed, released or canceled' using errcode = 'PL001';
  end if;
end $$;
