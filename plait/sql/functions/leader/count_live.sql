-- count_live: count the live jobs, for readers.
--
--   moves    nothing
--   locks    tries one of plait's own locks, so that only one process counts at a time
--   raises   nothing
--   called   plait.store.leader.count_live
--
-- o_took_s: duration of the call. The caller waits twenty times as long before the next count, so
-- that counting uses at most a twentieth of a core.
create or replace function plait.count_live(out o_jobs bigint, out o_took_s float8)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now   timestamptz := plait.now();
  v_began timestamptz := clock_timestamp();  -- clock: measures this call
begin
  o_jobs := 0;
  if plait._try_lock('count_live') then
    delete from plait.depths;
    insert into plait.depths (tenant_id, queue, state, at, jobs, oldest)
    select l.tenant_id, l.queue, l.state, v_now, count(*), min(l.run_at)
    from plait.live l
    group by 1, 2, 3;
    select coalesce(sum(jobs), 0) into o_jobs from plait.depths;
  end if;
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
