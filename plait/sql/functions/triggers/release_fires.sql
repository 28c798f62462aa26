-- release_fires: start firings with overlap policy `queue` whose previous job has ended.
--
--   moves    nothing -> queued
--   locks    triggers SKIP LOCKED, then the same as enqueue_many: safe to run in several processes
--            at once
--   raises   nothing
--   called   plait.store.triggers.release_fires
create or replace function plait.release_fires(p_limit int default 100) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '20ms' as $$
declare
  v_now timestamptz;
  v_n   int := 0;
  v_busy int := 0;
  t     plait.triggers;
  f     plait.fires;
begin
  perform plait._require_read_committed();
  if not exists (select from plait.fires where outcome = 'held') then
    return 0;
  end if;
  v_now := plait._now_after_xid();
  for t in
    select *
    from plait.triggers g
    where g.id in (select h.trigger_id from plait.fires h where h.outcome = 'held') and g.enabled
      and g.deleted_at is null
      and not exists (select from plait.live l where l.job_id = g.last_job_id)
    -- Random order, because firings of the first trigger may be blocked each time.
    order by random()
    limit p_limit for no key update skip locked
  loop
    select * into f
    from plait.fires h
    where h.trigger_id = t.id and h.outcome = 'held'
    order by h.instant limit 1;
    continue when not found;
    begin
      perform plait._fire(
        t => t, p_now => v_now, p_instant => f.instant, p_event => null,
        p_payload => f.held -> 'payload', p_dedupe_key => f.held ->> 'dedupe_key',
        p_correlation_id => f.held ->> 'correlation_id', p_limit_key => f.held ->> 'limit_key',
        p_error => null, p_held => f.id);
      v_n := v_n + 1;
    exception when lock_not_available or sqlstate 'PL016' then
      v_busy := v_busy + 1;   -- a user's transaction holds a row: left for a later call
      exit when v_busy = 5;
    end;
  end loop;
  return v_n;
end $$;
