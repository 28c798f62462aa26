-- roll_up: count attempts by outcome for each minute, even if transactions commit late.
--
--   moves    nothing
--   locks    tries one of plait's own locks, so that only one process counts at a time
--   raises   nothing
--   called   plait.store.leader.roll_up
--
-- A minute is recounted until it can no longer change, that is, until every transaction that may
-- have read the clock during that minute has ended. A transaction that ends attempts has its id
-- before it reads the clock, so these transactions have ids below seen_xid, which was assigned
-- after the minute. After a time without a leader, the missing minutes are counted once, one hour
-- per call.
-- o_more: call again immediately. o_took_s: duration of the call; the caller waits twenty times as
-- long.
create or replace function plait.roll_up(out o_more boolean, out o_took_s float8)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures this call
  v_now   timestamptz := plait.now();        -- before this transaction gets its id
  v_this  timestamptz := date_trunc('minute', v_now);
  v_to    timestamptz;
  v_ended boolean;
  r       plait.rolled;
begin
  o_more := false;
  o_took_s := 0;
  perform plait._require_read_committed();
  if not plait._try_lock('roll_up') then
    return;
  end if;
  insert into plait.rolled (closed_to, seen_at, seen_xid)
  values (v_this - interval '1 day', v_now, pg_current_xact_id())
  on conflict do nothing;
  select * into r from plait.rolled;
  v_ended := pg_snapshot_xmin(pg_current_snapshot()) > r.seen_xid;
  v_to := least(case when v_ended then greatest(r.closed_to, date_trunc('minute', r.seen_at))
                     else r.closed_to end,
                r.closed_to + interval '1 hour');
  if v_to > r.closed_to then
    perform plait._count_minutes(r.closed_to, v_to);
  end if;
  o_more := v_ended and v_to < date_trunc('minute', r.seen_at);
  if not o_more then   -- and the current minutes, with the attempts so far
    perform plait._count_minutes(
      greatest(v_to, v_this - interval '2 minutes'), v_this + interval '1 minute');
  end if;
  update plait.rolled set
    closed_to = v_to, seen_at = case when v_ended and not o_more then v_now else seen_at end,
    seen_xid = case when v_ended and not o_more then pg_current_xact_id() else seen_xid end;
  delete from plait.minutes
  where (tenant_id, minute) in (
    select m.tenant_id, m.minute
    from plait.minutes m
    where m.minute < v_now - interval '90 days' limit 1000);
  delete from plait.audit
  where id in (
    -- clock: ids contain the real time
    select a.id
    from plait.audit a
    where a.id < plait._uuid_floor(clock_timestamp() - interval '400 days') limit 1000);
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
