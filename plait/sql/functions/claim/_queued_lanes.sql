-- _queued_lanes: lanes of a queue with queued jobs, in order, after p_after up to p_upto.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_side_lanes
--
-- If p_upto is null, there is no upper bound. A skip scan of the index: each step finds the next
-- lane without reading the jobs of the previous lane.
create or replace function plait._queued_lanes(p_queue text, p_after text, p_upto text, p_limit int)
returns text[] language plpgsql as $$
begin
  return (
    with recursive s(lane, n) as (
      (select l.lane, 1
       from plait.live l
       where l.queue = p_queue and l.state = 'queued' and l.lane <> '' and l.lane > p_after
       order by l.lane limit least(1, p_limit))
      union all (select y.lane, s.n + 1
                 from s
                 cross join lateral (
                   select l.lane
                   from plait.live l
                   where l.queue = p_queue and l.state = 'queued' and l.lane <> ''
                     and l.lane > s.lane
                   order by l.lane limit 1) y
                 where s.n < p_limit)
    )
    select coalesce(array_agg(lane order by n), '{}')
    from s
    where p_upto is null or lane <= p_upto);
end $$;
