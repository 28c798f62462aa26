-- history: how attempts ended over time, from the leader's counts for each minute.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for more than 2,000 points, PL004 for a caller that may not read across tenants
--   called   plait.store.statistics.history, users
--
--   p_from   start of the time range. Default: an hour ago
--   p_step   length of an interval: one minute to 366 days
--
--   select at, succeeded, failed from plait.history(p_step => '10 minutes');
create or replace function plait.history(
  p_tenant uuid default null, p_all boolean default false, p_from timestamptz default null,
  p_step interval default '1 minute'
) returns table (
  at timestamptz, enqueued bigint, succeeded bigint, failed bigint, dead_letter bigint,
  canceled bigint, skipped bigint, retried bigint, lost bigint, run_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_from   timestamptz := plait._clamp_time(coalesce(p_from, plait.now() - interval '1 hour'));
begin
  if p_step is null or p_step not between interval '1 minute' and interval '366 days'
     or (plait.now() - v_from) / 2000 > p_step / 1 then
    raise exception 'a history must have at most 2,000 intervals, each between one minute and 366 days long'
      using errcode = 'PL001';
  end if;
  -- date_bin accepts no months
  p_step := make_interval(secs => extract(epoch from p_step)::float8);
  return query
    select date_bin(p_step, m.minute, 'epoch'), sum(m.enqueued)::bigint, sum(m.succeeded)::bigint,
           sum(m.failed)::bigint, sum(m.dead_letter)::bigint, sum(m.canceled)::bigint,
           sum(m.skipped)::bigint, sum(m.retried)::bigint, sum(m.lost)::bigint, sum(m.run_s)::float8
    from plait.minutes m
    where m.minute >= date_bin(p_step, v_from, 'epoch')
      and (v_tenant is null or m.tenant_id = v_tenant)
    group by 1
    order by 1;
end $$;
