-- _rate_tokens: how many more jobs a rate limit allows to start now; p_spend records starts.
--
--   moves    nothing
--   locks    nothing: the caller holds the limit's try-lock
--   raises   nothing
--   called   _capacity, _claim, explain_job
--
-- A sliding window: no period of this length, wherever it begins, has more than p_count starts.
-- Starts are stored individually. Above 64 entries, starts are grouped into intervals of 1/32 of
-- the period and stored at the end of their interval, so they count slightly longer, never shorter.
create or replace function plait._rate_tokens(
  p_name text, p_count int, p_period_s float8, p_now timestamptz, p_spend int default 0
) returns int
language plpgsql as $$
declare
  c_most   constant int := 64;
  v_period interval := make_interval(secs => p_period_s);
  v_slot   bigint;
  v_starts timestamptz[];
  v_counts int[];
  v_used   bigint;
begin
  select array_agg(s.start order by s.start), array_agg(s.n order by s.start), sum(s.n)
  into v_starts, v_counts, v_used
  from plait.buckets b
  cross join unnest(b.starts, b.counts) s(start, n)
  where b.name = p_name and s.start > p_now - v_period;
  if p_spend > 0 then
    v_starts := v_starts || p_now;
    v_counts := v_counts || p_spend;
    v_used := coalesce(v_used, 0) + p_spend;
    if cardinality(v_starts) > c_most then
      v_slot := greatest(1, ceil(p_period_s * 1e6 / 32));
      select array_agg(
               timestamptz 'epoch' + x.slot * v_slot * interval '1 microsecond' order by x.slot),
             array_agg(x.n order by x.slot)
      into v_starts, v_counts
      from (select ((extract(epoch from s.start) * 1000000)::bigint + v_slot - 1) / v_slot as slot,
                   sum(s.n)::int as n
            from unnest(v_starts, v_counts) s(start, n)
            group by 1) x;
    end if;
    insert into plait.buckets (name, full_at, starts, counts)
    values (p_name, (select max(s) from unnest(v_starts) s) + v_period, v_starts, v_counts)
    on conflict (name) do update set
      full_at = excluded.full_at, starts = excluded.starts, counts = excluded.counts;
  end if;
  return greatest(0, p_count - coalesce(v_used, 0));
end $$;
