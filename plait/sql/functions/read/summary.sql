-- summary: live jobs by state, the age of the oldest queued one, and recent failures.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004
--   called   plait.store.jobs.summary
--
-- Never counts history. Failures are counted up to 10,000; that number then means "or more".
create or replace function plait.summary(p_tenant uuid default null, p_all boolean default false)
returns table (status text, jobs bigint, oldest_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  return query
    select l.state::text, count(*), greatest(0, extract(epoch from plait.now() - min(l.run_at)))::float8
    from plait.live l where v_tenant is null or l.tenant_id = v_tenant group by l.state;
  return query
    select s.final::text, count(*), null::float8 from (
      select a.final from plait.attempts a
      where a.final in ('failed', 'dead_letter') and (v_tenant is null or a.tenant_id = v_tenant)
        and not exists (select from plait.attempts b where b.job_id = a.job_id and b.attempt > a.attempt)
      limit 10000) s group by 1;
end $$;
