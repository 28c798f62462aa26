-- get_job: one job with all its fields.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   explain_job, job_history, job_times, plait.store.jobs.get_job, users
--
--   select status, failed_attempts, error from plait.get_job(:'job');
create or replace function plait.get_job(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns setof plait.job
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select * from plait.job j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
end $$;
