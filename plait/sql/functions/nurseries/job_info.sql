-- job_info: the info of a job and its descendants, merged: numbers are summed, a parent's keys win.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.nurseries.job_info, users
--
--   select plait.job_info(:'job');
--
-- Each job writes only its own info; this function merges it. If several attempts of a job set the
-- same key, the last attempt wins.
create or replace function plait.job_info(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns jsonb
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_info   jsonb;
begin
  perform from plait.jobs j where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant);
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  with recursive below as (
    select j.id, j.root_id, array[j.id] as path from plait.jobs j where j.id = p_job
    union all
    select c.id, c.root_id, b.path || c.id from below b join plait.fan_outs f on f.parent_id = b.id
      join plait.jobs c on c.root_id = f.root_id and c.fan_out_id = f.id
  ), said as (
    select b.path, k.key, k.value
    from below b
    cross join lateral (
      select distinct on (e.key) e.key, e.value
      from (
        select a.attempt, a.progress::jsonb -> 'info' as info
        from plait.attempts a
        where a.job_id = b.id and a.progress is not null
        union all
        select r.attempt, r.progress::jsonb -> 'info'
        from plait.running_state r
        where r.job_id = b.id) s
      cross join lateral jsonb_each(
        case when jsonb_typeof(s.info) = 'object' then s.info else '{}' end) e
      order by e.key, s.attempt desc) k
  ), shown as (
    -- A job's key is ignored if an ancestor in this workflow sets it too.
    select s.key, s.value
    from said s
    where not exists (
      select from said p
      where p.key = s.key and p.path <> s.path and p.path = s.path[:cardinality(p.path)])
  )
  select coalesce(jsonb_object_agg(g.key, g.value), '{}') into v_info
  from (
    select s.key,
           case when bool_and(jsonb_typeof(s.value) = 'number') then
                  to_jsonb(sum(case when jsonb_typeof(s.value) = 'number' then
                                      (s.value #>> '{}')::numeric end))
                else (array_agg(s.value))[1] end as value
    from shown s
    group by s.key) g;
  return v_info;
end $$;
