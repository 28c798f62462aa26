-- drop_steps: remove a failed step and all later steps, so that the next attempt runs them again.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE
--   raises   nothing
--   called   plait.store.workflows.drop_steps
--
-- Called when an attempt ends with the error of a step that its handler had caught before.
-- p_branches: the step's branch and its parent branches, which have seen the error. Returns false
-- when the lease is lost.
create or replace function plait.drop_steps(
  p_worker int, p_job uuid, p_attempt int, p_branches text[], p_from int
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
begin
  perform from plait.live l
  where l.job_id = p_job and l.attempt = p_attempt and l.worker + 0 = p_worker for key share;
  if not found then
    return false;
  end if;
  delete from plait.steps s
  where s.job_id = p_job and s.branch = any(p_branches) and s.finished >= p_from;
  return true;
end $$;
