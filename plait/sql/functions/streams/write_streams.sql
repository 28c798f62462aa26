-- write_streams: append items to streams of running jobs, for a whole process in one call.
--
--   moves    nothing
--   locks    live rows FOR KEY SHARE, in id order; then the streams, by job and name
--   raises   check violations, and errors for values that are not JSON
--   called   plait.store.streams.write
--
-- An item is identified by (job, stream, branch, position). An existing item is left unchanged,
-- because a replay repeats earlier writes. A run after continue_as_new has its own branches, so it
-- writes new items. A null value closes the stream. Limits per job: 50 streams, 100,000 items,
-- 16 MiB.
-- Returns for each item, in order, the last stored position of its branch, which may be later than
-- the item's; 0 for a null value. If nothing was written for the item: -1 if the lease is lost, -2
-- if the job's streams are full, -3 if the stream is closed. The call can be repeated.
create or replace function plait.write_streams(
  p_workers int[], p_jobs uuid[], p_attempts int[], p_names text[], p_branches text[],
  p_positions int[], p_values text[]
) returns int[]
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  c_streams constant int := 50;
  c_items   constant int := 100000;
  c_bytes   constant int := 16777216;
  v_result  int[] := array_fill(-1, array[cardinality(p_jobs)]);
  g         record;
  s         plait.streams;
  v_streams int;
  v_items   int;
  v_bytes   bigint;
  v_new     record;
begin
  for g in
    with held as materialized (
      select l.job_id, l.attempt, l.worker, l.tenant_id,
             case when j.runs > 1 then 'run ' || j.runs || ' ' else '' end as run
      from plait.live l
      join plait.jobs j on j.id = l.job_id
      where l.job_id = any(p_jobs) and l.state = 'running'
        and (l.lane not in ('leader', 'suspect:leader')
             or plait._still_leads(l.worker, l.run_at, false))
      order by l.job_id for key share of l
    )
    select i.job_id, i.attempt, i.name, h.tenant_id, h.run,
           array_agg(i.n::int order by i.n) as places
    from unnest(p_jobs, p_attempts, p_workers, p_names) with ordinality
         i(job_id, attempt, worker, name, n)
    join held h on h.job_id = i.job_id and h.attempt = i.attempt and h.worker = i.worker
    group by 1, 2, 3, 4, 5
    order by 1, 3
  loop
    insert into plait.streams (job_id, tenant_id, name)
    values (g.job_id, g.tenant_id, g.name)
    on conflict do nothing;
    select * into s from plait.streams where job_id = g.job_id and name = g.name for no key update;
    select count(*), sum(t.items), sum(t.bytes) into v_streams, v_items, v_bytes
    from plait.streams t
    where t.job_id = g.job_id;
    with asked as materialized (
      select p.n, g.run || p_branches[p.n] as branch, p_positions[p.n] as position,
             p_values[p.n] as value
      from unnest(g.places) p(n)
    ), fresh as materialized (
      select a.*, octet_length(a.value) as size, row_number() over w as nth,
             sum(octet_length(a.value)) over w as upto
      from asked a
      where a.value is not null and not s.closed
        and not exists (
          select from plait.stream_items t
          where t.job_id = g.job_id and t.name = g.name and t.branch = a.branch
            and t.position = a.position) window w as (order by a.n)
    ), fitting as materialized (
      select f.*
      from fresh f
      where v_streams <= c_streams and v_items + f.nth <= c_items and v_bytes + f.upto <= c_bytes
    ), made as (
      insert into plait.stream_items (
        job_id, tenant_id, seq, position, attempt, name, branch, value)
      select g.job_id, g.tenant_id, s.last_seq + f.nth, f.position, g.attempt, g.name, f.branch,
             f.value::json
      from fitting f
    )
    select count(*)::int as items, coalesce(sum(f.size), 0) as bytes, array_agg(f.n) as places
    into v_new
    from fitting f;
    if v_new.items > 0
       or exists (select from unnest(g.places) p(n) where p_values[p.n] is null)
          and not s.closed then
      update plait.streams t set
        last_seq = t.last_seq + v_new.items, items = t.items + v_new.items,
        bytes = t.bytes + v_new.bytes,
        closed = exists (select from unnest(g.places) p(n) where p_values[p.n] is null)
      where t.job_id = g.job_id and t.name = g.name;
    end if;
    for v_new in
      select p.n, p_values[p.n] is null as closing, m.last
      from unnest(g.places) p(n)
      left join lateral (
        select max(t.position) as last from plait.stream_items t
        where t.job_id = g.job_id and t.name = g.name and t.branch = g.run || p_branches[p.n]) m
        on true
    loop
      v_result[v_new.n] := case
        when v_new.closing then 0
        when v_new.last >= p_positions[v_new.n] then v_new.last
        when s.closed then -3
        else -2 end;
    end loop;
  end loop;
  return v_result;
end $$;
