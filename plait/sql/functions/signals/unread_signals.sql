-- unread_signals: signals that a job has not read, counted by name, for at most 100 names.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.unread_signals, users
--
--   select * from plait.unread_signals(:'job');
create or replace function plait.unread_signals(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (name text, signals int, first_sent_at timestamptz)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select s.name::text, count(*)::int, min(s.sent_at)
    from plait.signals s
    where s.job_id = p_job and not s.consumed
    group by s.name
    order by s.name limit 100;
end $$;
