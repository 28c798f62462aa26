-- fan_out_times: how long the children of a fan-out waited and ran: median, p95 and maximum.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job
--   called   plait.store.statistics.fan_out_times, users
--
--   p_fan_out   one of the job's fan-outs. Default: its first
--
--   select ran, run_p50_s, run_p95_s from plait.fan_out_times(:'job');
--
-- children: how many were read: all of them, up to 100,000. ran: how many of these started and have
-- ended; run_… describe exactly these. unfinished have not ended. never_ran: ended without a start,
-- such as a child that was canceled while it was queued. wait_… describe the children that have
-- started (started). run_…: from the first start to the end; wait_…: from when the child was due
-- until its first start.
create or replace function plait.fan_out_times(
  p_job uuid, p_fan_out uuid default null, p_tenant uuid default null, p_all boolean default false
) returns table (
  total int, children int, ran int, unfinished int, never_ran int, started int, run_mean_s float8,
  run_p50_s float8, run_p95_s float8, run_max_s float8, wait_p50_s float8, wait_p95_s float8,
  wait_max_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  f        plait.fan_outs;
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  select * into f
  from plait.fan_outs o
  where o.parent_id = p_job and (p_fan_out is null or o.id = p_fan_out)
  order by o.created_at, o.id limit 1;
  return query
    select f.total, count(*)::int, count(*) filter (where t.is_final and t.run_s is not null)::int,
           count(*) filter (where not t.is_final)::int,
           count(*) filter (where t.is_final and t.run_s is null)::int,
           count(*) filter (where t.run_s is not null)::int,
           avg(t.run_s) filter (where t.is_final),
           percentile_cont(0.5) within group (order by t.run_s) filter (where t.is_final),
           percentile_cont(0.95) within group (order by t.run_s) filter (where t.is_final),
           max(t.run_s) filter (where t.is_final),
           percentile_cont(0.5) within group (order by t.wait_s) filter (where t.run_s is not null),
           percentile_cont(0.95) within group (order by t.wait_s) filter (
             where t.run_s is not null),
           max(t.wait_s) filter (where t.run_s is not null)
    from plait._child_times(f.root_id, f.id) t
    where f.id is not null
    having f.id is not null;
end $$;
