-- announce: tell endpoints of outcomes that they want to know: one delivery for each (endpoint, job, attempt that ended it). The leader's;
-- nothing is done a job, and where nobody wants to know, nothing at all.
--
--   moves    nothing -> queued
--   locks    one of plait's own, tried: of two who announce, one does
--   raises   nothing
--   called   plait.store.leader.announce
--
-- Everything from `closed_to` on is looked at each time, and what was told is left out. `closed_to` moves on to a moment when every
-- transaction that may have read the clock before it has ended, as in roll_up: so nothing that commits late is missed, and what lies before
-- need not be remembered. A tenant's quota does not count deliveries: they are bounded by its jobs.
-- o_more: call again at once. o_took_s: how long it took; who calls waits twenty times that.
create or replace function plait.announce(p_limit int default 1000, out o_told int, out o_more boolean, out o_took_s float8)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
  v_now   timestamptz := plait.now();        -- before this transaction gets its number
  v_since timestamptz := (select min(e.subscribed_at) from plait.endpoints e where e.subscribed_at is not null);
  v_safe  timestamptz;
  v_to    timestamptz;
  v_ended boolean;
  r       plait.announced;
begin
  o_told := 0;
  o_more := false;
  o_took_s := 0;
  if v_since is null or exists (select from plait.definitions d where d.name = 'connector.webhook.deliver' and not d.active) then
    return;  -- of an inactive definition nothing new is asked for; what happens meanwhile is told later
  end if;
  perform plait._require_read_committed();
  if not plait._try_lock('announce') then
    return;
  end if;
  insert into plait.announced (closed_to, seen_at, seen_xid) values (v_since, v_now, pg_current_xact_id()) on conflict do nothing;
  select * into r from plait.announced;
  r.closed_to := greatest(r.closed_to, v_since);  -- before that, nobody wanted to know
  if r.seen_xid > pg_current_xact_id() then  -- of another server, from which this database was restored: it would never be reached
    r.seen_at := v_now;
    r.seen_xid := pg_current_xact_id();
  end if;
  v_ended := pg_snapshot_xmin(pg_current_snapshot()) > r.seen_xid;
  v_safe := case when v_ended then greatest(r.closed_to, r.seen_at) else r.closed_to end;
  if v_safe > r.closed_to + interval '1 minute' then  -- nobody led for a while: a minute in each call
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
  delete from plait.announcements where ctid = any(array(
    select n.ctid from plait.announcements n where n.finished_at < v_safe order by n.finished_at limit 10000));
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
