-- dispatch: create a job for each trigger that an event matches, and signal jobs that wait for it.
--
--   moves    nothing -> queued; waiting -> queued
--   locks    events and triggers SKIP LOCKED, then the same as enqueue_many: several leaders may
--            call it at once
--   raises   PL016 as _fire: the caller then sends the events one by one and postpones the blocked
--            ones; an error is stored with its event
--   called   plait.store.events.dispatch
--
-- Everything happens in one transaction. p_events is a JSON array of {event, fires: [{trigger,
-- revision, payload, dedupe_key, correlation_id, limit_key, error}]}: the rows of pending_events,
-- rendered. An event is left for the next call if its row is locked, or if one of its triggers has
-- changed.
create or replace function plait.dispatch(p_events json) returns int
language plpgsql security definer set search_path = plait, pg_temp set lock_timeout = '20ms' as $$
declare
  v_now   timestamptz := plait._now_after_xid();
  v_done  int := 0;
  v_jobs  int;
  v_deduplicated int;
  v_error text;
  v_held  int;
  v_made  record;
  v_event plait.events;
  e       record;
  f       record;
begin
  perform plait._require_read_committed();
  for e in select * from json_to_recordset(p_events) x(event uuid, fires json) order by event loop
    select v.* into v_event
    from plait.events v
    where v.id = e.event and v.dispatched_at is null for update skip locked;
    continue when not found;
    select count(*) into v_held
    from (
      select t.id
      from json_to_recordset(e.fires) x(trigger uuid, revision int)
      join plait.triggers t
        on t.id = x.trigger and t.revision = x.revision and t.enabled and t.deleted_at is null
      for no key update of t skip locked) h;
    continue when v_held <> json_array_length(e.fires);
    if not plait._signal_event_waits(v_event) then
      v_done := v_done + 1;  -- some waiting jobs are left: the next call continues
      continue;
    end if;
    v_jobs := 0;
    v_deduplicated := 0;
    v_error := null;
    for f in
      select x.*, t as trigger_row, t.label
      from json_to_recordset(e.fires)
           x(trigger uuid, payload json, dedupe_key text, correlation_id text, limit_key text,
             error text)
      join plait.triggers t on t.id = x.trigger
      order by t.id
    loop
      select * into v_made from plait._fire(
        t => f.trigger_row, p_now => v_now, p_instant => null, p_event => e.event,
        p_payload => f.payload, p_dedupe_key => f.dedupe_key,
        p_correlation_id => f.correlation_id, p_limit_key => f.limit_key, p_error => f.error);
      v_jobs := v_jobs + (v_made.o_outcome = 'enqueued')::int;
      v_deduplicated := v_deduplicated + (v_made.o_outcome = 'deduplicated')::int;
      if v_made.o_outcome = 'refused' then
        v_error := concat_ws(
          '; ', v_error,
          f.label || ': '
            || (
              select r.error
              from plait.fires r
              where r.tenant_id = (f.trigger_row).tenant_id and r.trigger_id = f.trigger
                and r.event_id = e.event));
      end if;
    end loop;
    update plait.events set
      dispatched_at = v_now, jobs = v_jobs, deduplicated = v_deduplicated,
      error = left(v_error, 2000)
    where id = e.event;
    v_done := v_done + 1;
  end loop;
  return v_done;
end $$;
