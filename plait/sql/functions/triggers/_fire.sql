-- _fire: create the job of one firing, for an instant or an event, or record why it has none.
--
--   moves    nothing -> queued | scheduled
--   locks    the same as enqueue_many; the caller holds the trigger's row
--   raises   PL016 when a user's transaction holds the dedupe key or the quota: nothing was
--            changed, and the caller tries again; an error of the job is recorded with the firing
--   called   dispatch, fire, release_fires
--
-- The row in plait.fires is unique for (trigger, instant) and (trigger, event): a second call does
-- nothing and returns null. The dedupe window compares rendered dedupe keys or, without a key, the
-- payloads of events. It compares only firings of this trigger, so jobs that were enqueued by hand
-- or by a test of the trigger do not count.
create or replace function plait._fire(
  t plait.triggers, p_now timestamptz, p_instant timestamptz, p_event uuid, p_payload json,
  p_dedupe_key text, p_correlation_id text, p_limit_key text, p_error text,
  p_held uuid default null, out o_outcome text, out o_job uuid
)
language plpgsql as $$
declare
  v_fire   uuid := coalesce(p_held, plait.uuidv7());
  v_window text := coalesce(
    p_dedupe_key, case when p_event is not null then md5(p_payload::text) end);
  v_held   json;
  v_error  text := p_error;
  v_due    timestamptz;
  v_id     uuid := plait.uuidv7();
begin
  if p_held is null then
    insert into plait.fires (id, tenant_id, trigger_id, at, instant, event_id, outcome)
    values (v_fire, t.tenant_id, t.id, p_now, p_instant, p_event, 'refused') on conflict do nothing;
    if not found then
      return;
    end if;
  end if;
  o_outcome := 'enqueued';
  if v_error is not null then
    o_outcome := 'refused';
  elsif p_held is null and t.dedupe_window_s > 0 and v_window is not null then
    select f.job_id into o_job from plait.fires f
      where f.trigger_id = t.id and f.window_key = v_window and f.outcome in ('enqueued', 'held')
        and f.at > p_now - make_interval(secs => t.dedupe_window_s) order by f.at desc limit 1;
    if found then
      o_outcome := 'deduplicated';
    end if;
  end if;
  if o_outcome = 'enqueued' and t.overlap <> 'allow' and p_held is null
     and (exists (select from plait.live l where l.job_id = t.last_job_id)
          or t.overlap = 'queue'
             and exists (select from plait.fires f
                         where f.trigger_id = t.id and f.outcome = 'held')) then
    o_outcome := case when t.overlap = 'queue'
                           and (select count(*)
                                from plait.fires f
                                where f.trigger_id = t.id and f.outcome = 'held') < 100 then 'held'
                      else 'skipped' end;
    v_held := case when o_outcome = 'held' then
                     json_build_object(
                       'payload', p_payload, 'dedupe_key', p_dedupe_key,
                       'correlation_id', p_correlation_id, 'limit_key', p_limit_key) end;
  end if;
  if o_outcome = 'enqueued' then
    -- The jitter is computed from the trigger and the instant, so it is the same in every process.
    v_due := p_instant + make_interval(
      secs => t.jitter_s * (
        (hashtextextended(t.id::text || extract(epoch from p_instant), 0) & 1048575) / 1048576.0));
    begin
      select e.existing into o_job from plait.enqueue_many(
        p_ids => array[v_id], p_definitions => array[t.definition],
        p_payloads => array[p_payload::text], p_tenants => array[t.tenant_id],
        p_queues => array[t.queue], p_priorities => array[t.priority::int],
        p_max_attempts => array[t.max_attempts::int],
        p_scheduled_for => case when v_due > p_now then array[v_due] end,
        p_timeouts_s => case when t.timeout_s is not null then array[t.timeout_s] end,
        p_dedupe_keys => case when p_dedupe_key is not null then array[p_dedupe_key] end,
        p_limit_keys => case when p_limit_key is not null then array[p_limit_key] end,
        p_correlation_ids => case when p_correlation_id is not null then
                                    array[p_correlation_id] end,
        p_source => t.kind, p_in_transaction => false) e;
      if o_job is not null then
        o_outcome := 'deduplicated';
      else
        o_job := v_id;
        update plait.jobs set source_ref = coalesce(p_event, t.id)::text where id = v_id;
      end if;
    exception when sqlstate 'PL001' or sqlstate 'PL003' or sqlstate 'PL005' or sqlstate 'PL007' then
      o_outcome := 'refused';
      v_error := sqlerrm;
    end;
  end if;
  update plait.fires set
    outcome = o_outcome, job_id = o_job, window_key = v_window, error = left(v_error, 2000),
    held = v_held
  where id = v_fire;
  if o_outcome = 'enqueued' then
    update plait.triggers set
      fired = fired + 1, last_at = coalesce(p_instant, p_now), last_job_id = o_job
    where id = t.id;
  elsif o_outcome = 'skipped' then
    update plait.triggers set skipped = skipped + 1 where id = t.id;
  end if;
end $$;
