-- _advance_scan_bounds: advance a worker's scan bounds past dead index entries.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim
--
-- A claimed job leaves a dead entry in the index, at the place where the next claim starts.
-- Postgres cannot remove these entries while an old snapshot may still need them. There can be
-- millions (T114), and every claim would read all of them. A bound states that no queued job of
-- this tenant and priority has, or will ever have, an earlier run_at. That holds if
--   1. no such job is visible, whether locked or not, and
--   2. no such job can still appear.
-- For 2: a function that makes a job queued reads the clock after its transaction has an id
-- (_now_after_xid). An earlier claim of this worker read the time `seen_at` before it got its own
-- id, `seen_xid`. A transaction with a greater id got that id later, so it reads a later time. When
-- all transactions with smaller ids have ended, nothing earlier than `seen_at` can appear.
-- A bound never moves back. The check needs no privilege to see other sessions. An open transaction
-- that has written prevents the bounds from advancing. Called when a claim got at least 100 jobs of
-- the main lane, or was slow for the number of jobs that it got.
create or replace function plait._advance_scan_bounds(
  p_bounds plait.scan_bounds, p_seen_at timestamptz, p_queue text, p_definitions text[],
  p_tenants uuid[], p_priorities smallint[]
) returns plait.scan_bounds
language plpgsql as $$
declare
  c_most  constant int := 128;
  v_snapshot pg_snapshot := pg_current_snapshot();
begin
  if p_bounds.seen_at is not null then
    if p_seen_at < plait._rescan_at(p_bounds)
       or pg_snapshot_xmin(v_snapshot) <= p_bounds.seen_xid then
      return p_bounds;
    end if;
    select array_agg(m.tenant_id order by m.tenant_id, m.priority),
           array_agg(m.priority order by m.tenant_id, m.priority),
           array_agg(m.starts_at order by m.tenant_id, m.priority)
    into p_bounds.tenants, p_bounds.priorities, p_bounds.starts
    from (
      select k.tenant_id, k.priority,
             greatest(
               k.starts_at, least(p_bounds.seen_at, coalesce(f.run_at, 'infinity'))) as starts_at
      from (
        select x.tenant_id, x.priority, max(x.starts_at) as starts_at, bool_or(x.used) as used
        from (select t as tenant_id, p as priority, '-infinity'::timestamptz as starts_at,
                     true as used
              from unnest(p_tenants, p_priorities) u(t, p)
              union all
              select t, p, m, false
              from unnest(p_bounds.tenants, p_bounds.priorities, p_bounds.starts) u(t, p, m)) x
        group by 1, 2
        order by 4 desc limit c_most) k
      left join lateral (
        select l.run_at
        from plait.live l
        where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = k.tenant_id
          and l.priority = k.priority and l.run_at >= k.starts_at
          and l.definition = any(p_definitions)
        order by l.run_at limit 1) f on true) m;
  end if;
  p_bounds.seen_at := p_seen_at;
  p_bounds.seen_xid := pg_current_xact_id();
  return p_bounds;
end $$;
