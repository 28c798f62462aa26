-- overview: counts for one or all tenants: live jobs by state, failures, running workflows.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a caller that may not read across tenants
--   called   plait.store.statistics.overview, users
--
--   select o_queued, o_running, o_dead_letter from plait.overview();
--
-- It never counts the whole history (T113). Failures come from the leader's counts, as of
-- o_failures_at (see failures). At most 2,000 jobs that wait for a fan-out are counted, so 2,000
-- means "2,000 or more".
create or replace function plait.overview(
  p_tenant uuid default null, p_all boolean default false,
  out o_at timestamptz, out o_scheduled bigint, out o_queued bigint, out o_running bigint,
  out o_waiting bigint, out o_oldest_queued_s float8, out o_failed bigint, out o_dead_letter bigint,
  out o_fan_outs bigint, out o_workflows bigint, out o_failures_at timestamptz
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
declare
  v_tenant    uuid := plait._tenant_or_all(p_tenant, p_all);
  v_uncounted uuid[];
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
  v_uncounted := plait._uncounted_failures(v_tenant);
  o_failures_at := case when v_uncounted is not null then plait.now()
                        else (select c.at from plait.failures_counted c) end;
  select coalesce(sum(s.jobs) filter (where s.status = 'failed'), 0),
         coalesce(sum(s.jobs) filter (where s.status = 'dead_letter'), 0)
    into o_failed, o_dead_letter
    from (
      select g.status, g.jobs from plait.failure_groups g
      where v_tenant is null or g.tenant_id = v_tenant
      union all
      select d.status, d.jobs from plait._failure_deltas(v_uncounted) d) s;
  select count(*), count(distinct s.root) into o_fan_outs, o_workflows
  from (
    select coalesce(l.root_id, l.job_id) as root
    from plait.live l
    where l.state = 'waiting' and l.wait_on like 'fan_out %'
      and (v_tenant is null or l.tenant_id = v_tenant)
    limit 2000) s;
end $$;
