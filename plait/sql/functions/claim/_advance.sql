-- _advance: move a worker's marks on, so that its claims do not read again what is gone.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim
--
-- A claimed job leaves a dead entry in the index, at the very place where the next claim begins. As long as anybody's old snapshot
-- might need them they stay, by the million (T114), and every claim would walk over all of them. A mark says that no queued job of
-- its tenant and priority has, or will ever have, an earlier run_at. That is so when (1) none is visible, be it locked or not, and
-- (2) none can still appear: whoever makes a job queued takes the time after its transaction has a number (_moment). An earlier
-- claim of ours read the time `seen_at` before it got its own number, `seen_xid`. Whoever has a greater one got it later, and takes
-- a later time; when all others have ended, nothing earlier than `seen_at` is to come. A mark never moves back. This needs no
-- right to see others' transactions; one that has written and stays open holds the marks where they are.
create or replace function plait._advance(
  p_marks plait.marks, p_seen_at timestamptz, p_queue text, p_definitions text[], p_tenants uuid[], p_priorities smallint[]
) returns plait.marks
language plpgsql as $$
declare
  c_most  constant int := 128;
  v_snapshot pg_snapshot := pg_current_snapshot();
begin
  if p_marks.seen_at is not null then
    if p_seen_at < plait._look_at(p_marks) or pg_snapshot_xmin(v_snapshot) <= p_marks.seen_xid then
      return p_marks;
    end if;
    select array_agg(m.tenant_id order by m.tenant_id, m.priority), array_agg(m.priority order by m.tenant_id, m.priority),
           array_agg(m.mark order by m.tenant_id, m.priority)
      into p_marks.tenants, p_marks.priorities, p_marks.marks
      from (
        select k.tenant_id, k.priority, greatest(k.mark, least(p_marks.seen_at, coalesce(f.run_at, 'infinity'))) as mark
        from (
          select x.tenant_id, x.priority, max(x.mark) as mark, bool_or(x.used) as used
          from (select t as tenant_id, p as priority, '-infinity'::timestamptz as mark, true as used from unnest(p_tenants, p_priorities) u(t, p)
                union all
                select t, p, m, false from unnest(p_marks.tenants, p_marks.priorities, p_marks.marks) u(t, p, m)) x
          group by 1, 2 order by 4 desc limit c_most) k
        left join lateral (
          select l.run_at from plait.live l
          where l.queue = p_queue and l.lane = '' and l.state = 'queued' and l.tenant_id = k.tenant_id and l.priority = k.priority
            and l.run_at >= k.mark and l.definition = any(p_definitions)
          order by l.run_at limit 1) f on true) m;
  end if;
  p_marks.seen_at := p_seen_at;
  p_marks.seen_xid := pg_current_xact_id();
  return p_marks;
end $$;
