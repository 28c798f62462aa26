-- list_fan_outs: the fan-outs of a job, oldest first, with their counts and decisions.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job
--   called   plait.store.search.list_fan_outs
create or replace function plait.list_fan_outs(p_job uuid, p_tenant uuid default null, p_all boolean default false, p_limit int default 100)
returns table (id uuid, strategy text, total int, needed int, succeeded int, failed int, canceled int, decision text,
               created_at timestamptz, decided_at timestamptz, timeout_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select f.id, f.strategy, f.total, f.needed, f.succeeded, f.failed, f.canceled, f.decision, f.created_at, f.decided_at, f.timeout_at
    from plait.fan_outs f where f.parent_id = p_job order by f.created_at, f.id limit plait._page_size(p_limit);
end $$;
