-- fan_out_states: the states of unfinished children of a job's fan-outs.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job
--   called   plait.store.search.list_fan_outs
--
-- The rest of a fan-out's total is queued. Beside list_fan_outs, whose columns the release before
-- reads.
create or replace function plait.fan_out_states(p_job uuid, p_tenant uuid default null, p_all boolean default false)
returns table (id uuid, running int, waiting int, scheduled int)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select f.id, count(*) filter (where l.state = 'running')::int, count(*) filter (where l.state = 'waiting')::int,
           count(*) filter (where l.state = 'scheduled')::int
    from plait.fan_outs f join plait.live l on l.root_id = f.root_id and l.fan_out_id = f.id
    where f.parent_id = p_job and f.succeeded + f.failed + f.canceled < f.total
    group by f.id;
end $$;
