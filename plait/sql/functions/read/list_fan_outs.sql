-- list_fan_outs: the fan-outs of a job, oldest first, with counts, decisions and open children.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.statistics.list_fan_outs, users
--
--   select id, strategy, total, succeeded, failed from plait.list_fan_outs(:'job');
--
-- Children that are not counted in any column are queued.
create or replace function plait.list_fan_outs(
  p_job uuid, p_tenant uuid default null, p_all boolean default false, p_limit int default 100
) returns table (id uuid, strategy text, total int, needed int, succeeded int, failed int,
                 canceled int, decision text, created_at timestamptz, decided_at timestamptz,
                 timeout_at timestamptz, running int, waiting int, scheduled int)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select f.id, f.strategy, f.total, f.needed, f.succeeded, f.failed, f.canceled, f.decision,
           f.created_at, f.decided_at, f.timeout_at, s.running, s.waiting, s.scheduled
    from plait.fan_outs f
    cross join lateral (
      select count(*) filter (where l.state = 'running')::int as running,
             count(*) filter (where l.state = 'waiting')::int as waiting,
             count(*) filter (where l.state = 'scheduled')::int as scheduled
      from plait.live l
      where l.root_id = f.root_id and l.fan_out_id = f.id
        and f.succeeded + f.failed + f.canceled < f.total) s
    where f.parent_id = p_job
    order by f.created_at, f.id limit plait._page_size(p_limit);
end $$;
