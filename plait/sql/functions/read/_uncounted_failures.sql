-- _uncounted_failures: jobs whose failures changed since the last count; null if too many.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   failure_group, failure_history, failure_workers, failures, overview, search_jobs
--
-- Readers add the changes of these jobs (_failure_deltas) to the leader's counts, so the sum is
-- exact as of now. If the leader is more than p_most changes behind, readers return its last
-- counts.
create or replace function plait._uncounted_failures(p_tenant uuid, p_most int default 2000)
returns uuid[]
language plpgsql stable as $$
begin
  if (select count(*) from (select from plait.failure_changes limit p_most + 1) s) > p_most then
    return null;
  end if;
  return array(
    select distinct c.job_id from plait.failure_changes c
    where p_tenant is null or c.tenant_id = p_tenant);
end $$;
