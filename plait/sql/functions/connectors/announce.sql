-- announce: create webhook deliveries, one for each (endpoint, job, final attempt).
--
--   moves    nothing -> queued
--   locks    tries one of plait's own locks, so that only one process announces at a time
--   raises   nothing
--   called   plait.store.leader.announce
--
-- It adds no cost to enqueue and settle, and does nothing if there are no endpoints. Each call
-- reads the log of attempts from `closed_to` on and skips outcomes that were already announced.
-- `closed_to` advances to a time T once every transaction that may have read the clock before T has
-- ended, as in roll_up. So an outcome that commits late is not missed, and announcements of earlier
-- outcomes can be deleted. Deliveries do not count toward a tenant's quota, because its jobs
-- already limit their number.
-- o_more: call again immediately. o_took_s: duration of the call; the caller waits twenty times as
-- long.
create or replace function plait.announce(
  p_limit int default 1000, out o_told int, out o_more boolean, out o_took_s float8
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures this call
  v_now   timestamptz := plait.now();        -- before this transaction gets its id
  v_since timestamptz :=
    (select min(e.subscribed_at) from plait.endpoints e where e.subscribed_at is not null);
  v_safe  timestamptz;
  v_to    timestamptz;
  v_ended boolean;
  r       plait.announced;
begin
  o_told := 0;
  o_more := false;
  o_took_s := 0;
  if v_since is null
     or exists (select from plait.definitions d
                where d.name = 'connector.webhook.deliver' and not d.active) then
    return;  -- an inactive definition accepts no jobs; these outcomes are announced later
  end if;
  perform plait._require_read_committed();
  if not plait._try_lock('announce') then
    return;
  end if;
  insert into plait.announced (closed_to, seen_at, seen_xid)
  values (v_since, v_now, pg_current_xact_id())
  on conflict do nothing;
  select * into r from plait.announced;
  r.closed_to := greatest(r.closed_to, v_since);  -- there were no subscribers before
  -- the id is from the server that this database was restored from, and may never be reached here
  if r.seen_xid > pg_current_xact_id() then
    r.seen_at := v_now;
    r.seen_xid := pg_current_xact_id();
  end if;
  v_ended := pg_snapshot_xmin(pg_current_snapshot()) > r.seen_xid;
  v_safe := case when v_ended then greatest(r.closed_to, r.seen_at) else r.closed_to end;
  -- catch up after a time without a leader: one minute per call
  if v_safe > r.closed_to + interval '1 minute' then
    v_safe := r.closed_to + interval '1 minute';
    v_to := v_safe;
    o_more := true;
  else
    v_to := 'infinity';
  end if;
  o_told := plait._announce(r.closed_to, v_to, p_limit);
  if o_told = p_limit then
    o_more := true;
    v_safe := r.closed_to;
  elsif v_ended and v_to = 'infinity' then
    r.seen_at := v_now;
    r.seen_xid := pg_current_xact_id();
  end if;
  update plait.announced set closed_to = v_safe, seen_at = r.seen_at, seen_xid = r.seen_xid;
  delete from plait.announcements
  where ctid = any(array(
                     select n.ctid
                     from plait.announcements n
                     where n.finished_at < v_safe
                     order by n.finished_at limit 10000));
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
