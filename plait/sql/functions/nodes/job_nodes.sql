-- job_nodes: the nodes of a node job, the outcome of each, and the rule that decided the job.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.nodes.job_nodes, users
--
--   select node, status, rule from plait.job_nodes(:'job');
create or replace function plait.job_nodes(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (
  node text, job_id uuid, definition text, status text, attempt int, late boolean, result text,
  error text, finished_at timestamptz, rule text, decided_at timestamptz, total int, needed int)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query select * from plait._job_nodes(p_job);
end $$;
