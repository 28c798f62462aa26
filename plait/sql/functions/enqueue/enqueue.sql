-- enqueue: enqueue one job, from psql, a stored procedure, a table trigger or another language.
--
--   moves    nothing -> queued | scheduled
--   locks    the same as enqueue_many
--   raises   the same as enqueue_many
--   called   users
--
--   after                  ids of jobs that must end first
--   on_dependency_failure   `cancel` or `run` the job if a job in `after` does not succeed
--
--   select plait.enqueue('send_mail', '{"to": "a@b.example"}',
--     queue => 'mail', dedupe_key => 'welcome 17');
--
-- Returns the job's id. If an older job holds the dedupe key or the idempotency key, no job is
-- created and that job's id is returned.
create or replace function plait.enqueue(
  definition text, payload json default '{}', tenant text default null, queue text default null,
  priority int default null, max_attempts int default null, scheduled_for timestamptz default null,
  delay interval default null, dedupe_key text default null, idempotency_key text default null,
  limit_key text default null, correlation_id text default null, id uuid default null,
  after uuid[] default null, on_dependency_failure text default 'cancel'
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id  uuid := coalesce(enqueue.id, plait.uuidv7());
  v_old uuid;
begin
  select e.existing into v_old
  from plait.enqueue_many(
    p_ids => array[v_id], p_definitions => array[enqueue.definition],
    p_payloads => array[enqueue.payload::text],
    p_tenants => array[
      case when enqueue.tenant is null then plait._tenant(null)
           else plait.tenant_id(enqueue.tenant) end],
    p_queues => array[enqueue.queue], p_priorities => array[enqueue.priority],
    p_max_attempts => array[enqueue.max_attempts],
    p_scheduled_for => array[enqueue.scheduled_for],
    p_delays_s => array[extract(epoch from enqueue.delay)::float8],
    p_dedupe_keys => case when enqueue.dedupe_key is not null then array[enqueue.dedupe_key] end,
    p_idempotency_keys => case when enqueue.idempotency_key is not null then
                                 array[enqueue.idempotency_key] end,
    p_limit_keys => array[enqueue.limit_key], p_correlation_ids => array[enqueue.correlation_id],
    p_afters => case when enqueue.after is not null then array[enqueue.after::text] end,
    p_on_dependency_failures => array[enqueue.on_dependency_failure]) e;
  return coalesce(v_old, v_id);
end $$;
