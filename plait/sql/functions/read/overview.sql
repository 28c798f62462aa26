-- overview: a tenant's jobs, or all jobs: live ones by state, failures, workflows under way.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.statistics.overview, users
--
--   select o_queued, o_running, o_dead_letter from plait.overview();
--
-- Failures, and jobs that wait for a fan-out, are counted up to 2,000, which then means "or more".
--
-- Nothing here counts history (T113).
create or replace function plait.overview(
  p_tenant uuid default null, p_all boolean default false,
  out o_at timestamptz, out o_scheduled bigint, out o_queued bigint, out o_running bigint,
  out o_waiting bigint, out o_oldest_queued_s float8, out o_failed bigint, out o_dead_letter bigint,
  out o_fan_outs bigint, out o_workflows bigint
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  select coalesce(min(d.at), plait.now()),
         coalesce(sum(d.jobs) filter (where d.state = 'scheduled'), 0),
         coalesce(sum(d.jobs) filter (where d.state = 'queued'), 0),
         coalesce(sum(d.jobs) filter (where d.state = 'running'), 0),
         coalesce(sum(d.jobs) filter (where d.state = 'waiting'), 0),
         greatest(0,
                  extract(epoch from plait.now()
                            - min(d.oldest) filter (where d.state = 'queued')))::float8
  into o_at, o_scheduled, o_queued, o_running, o_waiting, o_oldest_queued_s
  from plait._live_counts(v_tenant) d;
  if o_queued = 0 then
    o_oldest_queued_s := null;
  end if;
  select count(*) filter (where s.final = 'failed'), count(*) filter (where s.final = 'dead_letter')
  into o_failed, o_dead_letter
  from (
    select a.final
    from plait.attempts a
    where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant)
      and not exists (select from plait.attempts b
                      where b.job_id = a.job_id and b.attempt > a.attempt)
    limit 2000) s;
  select count(*), count(distinct s.root) into o_fan_outs, o_workflows
  from (
    select coalesce(l.root_id, l.job_id) as root
    from plait.live l
    where l.state = 'waiting' and l.wait_on like 'fan_out %'
      and (v_tenant is null or l.tenant_id = v_tenant)
    limit 2000) s;
end $$;
