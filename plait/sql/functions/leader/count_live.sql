-- count_live: count what is live, for readers who must not. The leader's.
--
--   moves    nothing
--   locks    one of plait's own, tried: of two who count, one does
--   raises   nothing
--   called   plait.store.leader.count_live
--
-- o_took_s: how long it took; who calls waits twenty times that before the next, so that counting costs a twentieth of a core at most.
create or replace function plait.count_live(out o_jobs bigint, out o_took_s float8)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now   timestamptz := plait.now();
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
begin
  o_jobs := 0;
  if plait._try_lock('count_live') then
    delete from plait.depths;
    insert into plait.depths (tenant_id, queue, state, at, jobs, oldest)
    select l.tenant_id, l.queue, l.state, v_now, count(*), min(l.run_at) from plait.live l group by 1, 2, 3;
    select coalesce(sum(jobs), 0) into o_jobs from plait.depths;
  end if;
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
