-- _release_keys: delete the dedupe keys of jobs that became final.
--
--   moves    nothing
--   locks    dedupe rows in key order
--   raises   nothing
--   called   _settle_succeeded
create or replace function plait._release_keys(p_tenants uuid[], p_keys text[], p_jobs uuid[])
returns void language plpgsql set enable_nestloop = on as $$
declare r record;
begin
  for r in
    select * from unnest(p_tenants, p_keys, p_jobs) k(tenant_id, key, job_id) order by 1, 2
  loop
    delete from plait.dedupe where tenant_id = r.tenant_id and key = r.key and job_id = r.job_id;
  end loop;
end $$;
