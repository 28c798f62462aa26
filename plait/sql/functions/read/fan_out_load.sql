-- fan_out_load: how many children of a fan-out ran at once, and how many failed, over time.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.statistics.fan_out_load, users
--
--   p_fan_out   one of the job's fan-outs. Default: its first
--   p_start     start of the range. Default: when the fan-out was opened
--   p_end       end of the range. Default: when it was decided, or now
--   p_parts     number of equal intervals
--
--   select * from plait.fan_out_load(:'job');
--
-- running: how many children ran at any time within the interval. Ended attempts are read only for
-- the fan-out's first 20,000 children, so that the call stays fast.
create or replace function plait.fan_out_load(
  p_job uuid, p_fan_out uuid default null, p_tenant uuid default null, p_all boolean default false,
  p_start timestamptz default null, p_end timestamptz default null, p_parts int default 100
) returns table (at timestamptz, running int, failed int)
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
#variable_conflict use_column
declare
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_parts  int := least(greatest(p_parts, 1), 500);
  v_start  timestamptz;
  v_end    timestamptz;
  v_width  float8;
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
  v_start := plait._clamp_time(coalesce(p_start, f.created_at));
  v_end := greatest(
    plait._clamp_time(coalesce(p_end, f.decided_at, plait.now())), v_start + interval '1 ms');
  v_width := extract(epoch from v_end - v_start) / v_parts;
  return query
    with spans as (
      select coalesce(a.started_at, a.claimed_at) as began, a.finished_at as ended,
             a.status in ('failed', 'timeout', 'lost') as bad
      from (
        select t.id
        from plait.jobs t
        where t.root_id = f.root_id and t.fan_out_id = f.id
        order by t.fan_out_index limit 20000) j
      join plait.attempts a on a.job_id = j.id
      where a.claimed_at is not null and a.claimed_at < v_end and a.finished_at >= v_start
      union all
      select l.run_at, null, false
      from plait.live l
      where l.root_id = f.root_id and l.fan_out_id = f.id and l.state = 'running'
        and l.run_at < v_end
    ), moves as (
      select greatest(0, floor(extract(epoch from began - v_start) / v_width))::int as part,
             1 as began, 0 as ended, 0 as failed
      from spans
      union all
      select floor(extract(epoch from ended - v_start) / v_width)::int, 0, 1, bad::int
      from spans
      where ended < v_end
    ), sums as (
      select p.part, coalesce(sum(m.began), 0) as began, coalesce(sum(m.ended), 0) as ended,
             coalesce(sum(m.failed), 0) as failed
      from generate_series(0, v_parts - 1) p (part)
      left join moves m on m.part = p.part
      group by p.part
    )
    select v_start + make_interval(secs => s.part * v_width),
           (sum(s.began) over (order by s.part) - sum(s.ended) over (order by s.part)
              + s.ended)::int,
           s.failed::int
    from sums s
    where f.id is not null
    order by s.part;
end $$;
