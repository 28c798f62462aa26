-- failure_history: how often an error of a definition occurred, by hour or a longer interval.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for more than 2,000 points or for an interval that is not a number of hours,
--            PL004 for a caller that may not read across tenants
--   called   plait.store.failures.history, users
--
--   p_definition    name of the definition
--   p_fingerprint   fingerprint of the error (failures)
--   p_from          start of the time range. Default: a day ago
--   p_step          length of an interval: a whole number of hours, up to 366 days
--
--   select at, failed, dead_letter from plait.failure_history('send_mail', :'fingerprint');
--
-- It counts the failures of all jobs that are kept, including jobs that were retried since.
-- Intervals without a failure are omitted.
create or replace function plait.failure_history(
  p_definition text, p_fingerprint text, p_tenant uuid default null, p_all boolean default false,
  p_from timestamptz default null, p_step interval default '1 hour'
) returns table (at timestamptz, failed bigint, dead_letter bigint)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from   timestamptz := plait._clamp_time(coalesce(p_from, plait.now() - interval '1 day'));
  v_step_s float8 := extract(epoch from p_step);
  v_step   interval;
begin
  if v_step_s is null or v_step_s not between 3600 and 31622400 or v_step_s::bigint % 3600 <> 0
     or extract(epoch from plait.now() - v_from) / 2000 > v_step_s then
    raise exception 'a history must have at most 2,000 intervals; an interval must be a whole number of hours and at most 366 days'
      using errcode = 'PL001';
  end if;
  v_step := make_interval(secs => v_step_s);  -- date_bin accepts no months
  return query
    with counted as (
      select h.hour, h.status, h.failures
      from plait.failure_groups g
      join plait.failure_hours h using (tenant_id, definition, fingerprint, status)
      where (v_tenant is null or g.tenant_id = v_tenant) and g.definition = p_definition
        and g.fingerprint = p_fingerprint and h.hour >= date_bin(v_step, v_from, 'epoch')
      union all
      select date_trunc('hour', d.finished_at, 'UTC'), d.status, d.failures
      from plait._failure_deltas(plait._uncounted_failures(v_tenant)) d
      where d.definition = p_definition and d.fingerprint = p_fingerprint and d.failures <> 0
    )
    select date_bin(v_step, c.hour, 'epoch'),
           coalesce(sum(c.failures) filter (where c.status = 'failed'), 0)::bigint,
           coalesce(sum(c.failures) filter (where c.status = 'dead_letter'), 0)::bigint
    from counted c where c.hour >= date_bin(v_step, v_from, 'epoch')
    group by 1 having sum(c.failures) > 0 order by 1;
end $$;
