-- overview: how a tenant's jobs, or everybody's, stand: what is live by state, what has failed, what is under way.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for who may not ask across tenants
--   called   plait.store.search.overview
--
-- Nothing here counts history (T113). What has failed, and what waits for a fan-out, is counted up to 10,000, which then means "or more".
create or replace function plait.overview(
  p_tenant uuid default null, p_all boolean default false,
  out o_at timestamptz, out o_states text[], out o_jobs bigint[], out o_oldest_queued_s float8, out o_failed bigint, out o_dead_letter bigint,
  out o_fan_outs bigint, out o_workflows bigint
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  with d as materialized (select * from plait._live_counts(v_tenant)), s as (select state, sum(jobs)::bigint as jobs from d group by state)
  select coalesce((select min(d.at) from d), plait.now()), array(select s.state::text from s order by s.state),
         array(select s.jobs from s order by s.state),
         (select greatest(0, extract(epoch from plait.now() - min(d.oldest)))::float8 from d where d.state = 'queued')
    into o_at, o_states, o_jobs, o_oldest_queued_s;
  select count(*) filter (where s.final = 'failed'), count(*) filter (where s.final = 'dead_letter') into o_failed, o_dead_letter from (
    select a.final from plait.attempts a
    where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant)
      and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
    limit 10000) s;
  select count(*), count(distinct s.root) into o_fan_outs, o_workflows from (
    select coalesce(l.root_id, l.job_id) as root from plait.live l
    where l.state = 'waiting' and l.wait_on like 'fan_out %' and (v_tenant is null or l.tenant_id = v_tenant) limit 10000) s;
end $$;
