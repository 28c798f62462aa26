-- list_steps: the steps of a durable job, in order, with the state of its fan-outs.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.list_steps, users
--
--   select seq, name, done from plait.list_steps(:'job');
create or replace function plait.list_steps(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (
  seq int, name text, occurrence int, kind text, attempt int, at timestamptz, done boolean,
  due_at timestamptz, value text, error text, fan_out_id uuid, strategy text, decision text,
  total int, succeeded int, failed int, canceled int, timeout_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select s.seq, s.name, s.occurrence, s.kind, s.attempt, s.at, s.done, s.due_at, s.value::text,
           s.error, s.fan_out_id, f.strategy, f.decision, f.total, f.succeeded, f.failed,
           f.canceled, f.timeout_at
    from plait.steps s
    left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job
    order by s.seq, s.name, s.occurrence;
end $$;
