-- signal_or_start: signal the job that holds a dedupe key, or start a job and signal it.
--
--   moves    nothing -> queued | scheduled; waiting -> queued
--   locks    the same as enqueue_many, for a job with a dedupe key; then the same as signal
--   raises   PL001 without a dedupe key, and as enqueue_many and signal; PL016 if the jobs that
--            hold the key end before they get the signal
--   called   plait.store.caller_connections.start_async_on, plait.store.signals.signal_or_start,
--            users
--
--   p_id               id for a new job, from `uuidv7`
--   p_definition       name of the job definition
--   p_payload          the arguments of the handler, a JSON object as text
--   p_dedupe_key       dedupe key of the job to signal or start
--   p_signal           name of the signal
--   p_signal_payload   JSON of at most 1 MiB
--   p_signal_id        id of the signal, so that the call can be repeated. Default: a new id
--   p_queue            name of the queue. Default: the definition's queue
--   p_priority         lower runs first. Default: the definition's priority
--   p_max_attempts     maximum number of attempts. Default: the definition's
--   p_scheduled_for    start time. Default: now
--   p_delay_s          seconds until the job may start
--   p_timeout_s        seconds that an attempt may take
--   p_limit_key        value for the definition's per-key limits
--   p_correlation_id   an id from your application, for finding the job
--   p_in_transaction   pass false only if you commit immediately after the call
--   p_wait_ms          milliseconds to wait for a lock before PL016
--   p_defaults         as in enqueue_many
--
--   select * from plait.signal_or_start(plait.uuidv7(), 'basket', '{"customer": 17}',
--     'basket 17', 'item', '{"sku": "A1"}');
--
-- Returns the job's id, and whether it was started. If the job ends before it gets the signal, the
-- call starts another job. Repeating the call with the same ids has no effect.
create or replace function plait.signal_or_start(
  p_id uuid, p_definition text, p_payload text, p_dedupe_key text, p_signal text,
  p_signal_payload json default null, p_signal_id uuid default null, p_tenant uuid default null,
  p_queue text default null, p_priority int default null, p_max_attempts int default null,
  p_scheduled_for timestamptz default null, p_delay_s float8 default null,
  p_timeout_s float8 default null, p_limit_key text default null,
  p_correlation_id text default null, p_in_transaction boolean default true,
  p_wait_ms int default 5000, p_defaults json default null, out o_job uuid, out o_started boolean
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_signal uuid := coalesce(p_signal_id, plait.uuidv7());
  v_held   uuid;
begin
  perform plait._require_read_committed();
  if p_dedupe_key is null then
    raise exception 'signal_or_start requires a dedupe key' using errcode = 'PL001';
  end if;
  for v_pass in 1..10 loop
    v_held := null;
    select e.existing into v_held from plait.enqueue_many(
      p_ids => array[p_id], p_definitions => array[p_definition], p_payloads => array[p_payload],
      p_tenants => array[v_tenant], p_queues => array[p_queue],
      p_priorities => array[p_priority], p_max_attempts => array[p_max_attempts],
      p_scheduled_for => array[p_scheduled_for], p_delays_s => array[p_delay_s],
      p_timeouts_s => array[p_timeout_s], p_dedupe_keys => array[p_dedupe_key],
      p_limit_keys => array[p_limit_key], p_correlation_ids => array[p_correlation_id],
      p_in_transaction => p_in_transaction, p_wait_ms => p_wait_ms, p_defaults => p_defaults) e;
    o_job := coalesce(v_held, p_id);
    o_started := o_job = p_id;
    begin
      perform plait.signal(o_job, p_signal, p_signal_payload, v_tenant, v_signal);
      return;
    exception when sqlstate 'PL009' then
      if o_started then
        return;  -- a repeated call: the job was started and signaled before, and has ended
      end if;
    end;
  end loop;
  raise exception 'each job that held the dedupe key ended before it got the signal: try again'
    using errcode = 'PL016';
end $$;
