-- _child_times: when each child of a fan-out started and ended, how long it waited and ran.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   fan_out_times, list_children
--
-- Reads every child from p_start on, up to p_most, by the index of the workflow: an order or a
-- percentile is that of all of them, not of a page. wait_s: from when the child was due until its
-- first start, or until now; null if it ended without a start. run_s: from its first start to its
-- end, or until now, as in job_times. rank: its place if children are sorted by status, those that
-- need attention first.
create or replace function plait._child_times(
  p_root uuid, p_fan_out uuid, p_start int default 0, p_most int default 100000
) returns table (id uuid, fan_out_index int, status plait.status, is_final boolean, rank int,
               wait_s float8, run_s float8)
language sql stable set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
  select j.id, j.fan_out_index, s.status, l.job_id is null,
         array_position(
           '{dead_letter,failed,running,waiting,scheduled,queued,canceled,skipped,succeeded}'
             ::plait.status[],
           s.status),
         case when b.began is not null or l.job_id is not null then
                greatest(
                  extract(
                    epoch from coalesce(b.began, plait.now())
                      - greatest(j.created_at, j.scheduled_for))::float8,
                  0) end,
         case when b.began is not null then
                greatest(
                  extract(
                    epoch from case when l.job_id is null then a.ended
                                    else plait.now() end - b.began)::float8,
                  0) end
  from (
    select t.id, t.fan_out_index, t.created_at, t.scheduled_for
    from plait.jobs t
    where t.root_id = p_root and t.fan_out_id = p_fan_out and t.fan_out_index >= p_start
    order by t.fan_out_index limit p_most) j
  left join plait.live l on l.job_id = j.id
  left join lateral (
    select min(coalesce(t.started_at, t.claimed_at)) filter (
             -- not released before it started
             where t.claimed_at is not null
               and not (t.status = 'released' and t.started_at >= t.finished_at)) as began,
           max(t.finished_at) as ended,
           (array_agg(t.final order by t.attempt desc))[1] as final
    from plait.attempts t
    where t.job_id = j.id) a on true
  cross join lateral (
    select coalesce(a.began, case when l.state = 'running' then l.run_at end) as began) b
  cross join lateral (select coalesce(l.state, a.final) as status) s
$$;
