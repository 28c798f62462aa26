-- promote: move scheduled jobs that are due to their queues.
--
--   moves    scheduled -> queued
--   locks    live rows SKIP LOCKED: safe to run in several processes at the same time
--   raises   nothing
--   called   plait.store.leader.promote
--
-- run_at becomes the time of promotion. Returns how many jobs moved, and in how many seconds the
-- next job is due, not counting jobs that are due but locked.
create or replace function plait.promote(
  p_limit int default 1000, out o_promoted int, out o_next_s float8
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[];
begin
  perform plait._require_read_committed();
  if exists (select from plait.live where state = 'scheduled' and run_at <= v_now) then
    v_now := plait._now_after_xid();
  end if;
  with due as materialized (
    select job_id
    from plait.live
    where state = 'scheduled' and run_at <= v_now
    order by run_at limit p_limit for update skip locked
  ), u as (
    update plait.live l set state = 'queued', run_at = v_now
    from due
    where l.job_id = due.job_id
    returning l.queue
  )
  select count(*), array_agg(distinct queue) into o_promoted, v_queues from u;
  if o_promoted > 0 then
    perform plait._wake_workers(v_queues);
  end if;
  if o_promoted = p_limit then
    o_next_s := 0;
  else
    select extract(epoch from min(run_at) - v_now) into o_next_s
    from plait.live
    where state = 'scheduled' and run_at > v_now;
  end if;
end $$;
