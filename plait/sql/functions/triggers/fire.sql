-- fire: create the jobs of a schedule's due instants and advance the schedule, in one transaction.
--
--   moves    nothing -> queued | scheduled
--   locks    the trigger's row SKIP LOCKED, then the same as enqueue_many: several leaders may call
--            it at once
--   raises   PL001 for instants that are not due; PL016 as _fire: the caller repeats the call later
--   called   plait.store.triggers.fire
--
-- The caller has computed the instants between p_cursor and p_upto from revision p_revision of the
-- trigger. If the cursor or the revision has changed since, or the row is locked, the call does
-- nothing and returns null: the caller must read the schedule again. p_fires is a JSON array of
-- {instant, payload, dedupe_key, correlation_id, limit_key, error}. p_error: why no instant can be
-- computed.
create or replace function plait.fire(
  p_trigger uuid, p_revision int, p_cursor timestamptz, p_upto timestamptz, p_next timestamptz,
  p_fires json default '[]', p_missed int default 0, p_error text default null
) returns int
language plpgsql security definer set search_path = plait, pg_temp set lock_timeout = '20ms' as $$
declare
  v_now   timestamptz := plait._now_after_xid();
  v_fired int := 0;
  t       plait.triggers;
  f       record;
begin
  perform plait._require_read_committed();
  select * into t
  from plait.triggers
  where id = p_trigger and kind = 'schedule' and enabled and deleted_at is null
    and revision = p_revision and cursor_at = p_cursor
  for no key update skip locked;
  if not found then
    return null;
  end if;
  if p_upto < p_cursor or p_upto > v_now or p_next <= p_upto then
    raise exception 'p_upto must be between p_cursor and now, and p_next must be after p_upto'
      using errcode = 'PL001';
  end if;
  for f in
    select *
    from json_to_recordset(p_fires)
         x(instant timestamptz, payload json, dedupe_key text, correlation_id text, limit_key text,
           error text)
    order by instant
  loop
    if (f.instant > p_cursor and f.instant <= p_upto) is not true then
      raise exception 'an instant must be between p_cursor and p_upto, got %', f.instant
        using errcode = 'PL001';
    end if;
    v_fired := v_fired + coalesce(((plait._fire(
      t => t, p_now => v_now, p_instant => f.instant, p_event => null, p_payload => f.payload,
      p_dedupe_key => f.dedupe_key, p_correlation_id => f.correlation_id,
      p_limit_key => f.limit_key, p_error => f.error)).o_outcome = 'enqueued')::int, 0);
    select * into t from plait.triggers where id = t.id;  -- its last job may have changed
  end loop;
  update plait.triggers set
    cursor_at = p_upto, next_at = p_next, missed = missed + p_missed, error = left(p_error, 2000)
  where id = t.id;
  return v_fired;
end $$;
