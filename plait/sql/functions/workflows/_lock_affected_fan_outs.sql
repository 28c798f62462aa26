-- _lock_affected_fan_outs: lock fan-outs affected by ending these jobs; return jobs that may end.
--
--   moves    nothing
--   locks    fan-outs SKIP LOCKED. Never waits; the caller holds the jobs' live rows
--   raises   nothing
--   called   _cancel_rows, _release_running, rescue, resume, _settle_skip_locked,
--            _take_over_leader_jobs
--
-- A user's open transaction can hold a fan-out (cancel, spawn, retry …). A job whose end would have
-- to wait for that transaction is left out, and the caller handles it later. For the other jobs,
-- this transaction then holds every row that _fan_in locks. The end of a job changes the fan-out
-- that it belongs to, the fan-outs of jobs that depend on it, and its own fan-outs. If this may end
-- a parent, the fan-outs that the parent's end changes are locked too.
create or replace function plait._lock_affected_fan_outs(p_jobs uuid[]) returns uuid[]
language plpgsql set enable_seqscan = off set enable_mergejoin = off set enable_hashjoin = off as $$
declare
  v_jobs   uuid[];
  v_fans   uuid[];
  v_locked uuid[];
begin
  with recursive up as (
    select j as origin, j as job from unnest(p_jobs) j
    union
    select up.origin, f.parent_id
    from up
    cross join lateral (
      select o.* from plait.jobs j join plait.fan_outs o on o.id = j.fan_out_id where j.id = up.job
      union all
      select o.*
      from plait.dependencies d
      join plait.fan_outs o on o.id = d.fan_out_id
      where d.on_id = up.job) f
    where f.decided_at is null and f.waited_for is not null
            and (f.id = f.parent_id or f.strategy = 'after' or f.on_timeout is not null)
      or f.decided_at is null and f.strategy = 'nursery'
         and exists (select from plait.fan_outs o
                     where o.id = f.parent_id and o.waited_for is not null)
  )
  select array_agg(x.origin), array_agg(x.id) into v_jobs, v_fans
  from (
    select up.origin, f.id
    from up
    cross join lateral (
      select j.fan_out_id as id from plait.jobs j where j.id = up.job and j.fan_out_id is not null
      union all
      select n.id
      from plait.jobs j
      join plait.fan_outs o on o.id = j.fan_out_id and o.strategy = 'nursery'
      join plait.fan_outs n on n.id = o.parent_id
      where j.id = up.job
      union all
      select d.fan_out_id from plait.dependencies d where d.on_id = up.job
      union all
      select o.id from plait.fan_outs o where o.parent_id = up.job) f) x;
  if v_fans is null then
    return p_jobs;
  end if;
  v_locked := array(select o.id
                    from plait.fan_outs o
                    where o.id = any(v_fans)
                    order by o.depth desc, o.id for no key update skip locked);
  return array(
    select j
    from unnest(p_jobs) j
    where j <> all(
      array(select x.job from unnest(v_jobs, v_fans) x(job, fan) where x.fan <> all(v_locked))));
end $$;
