-- signal: send a signal to a job. It is stored until the job reads it.
--
--   moves    waiting -> queued
--   locks    the job's live row, so that a concurrent wait finds the signal, or the signal finds
--            the wait
--   raises   PL001 bad argument, PL008 if the caller can see no such job, PL009 when it is final
--   called   follow_link, _signal_event_waits, signal_or_start,
--            plait.store.caller_connections.signal_async_on,
--            plait.store.caller_connections.signal_sync_on, plait.store.jobs.signal, users
--
--   p_name      name of the signal, 1 to 180 characters
--   p_payload   JSON of at most 1 MiB
--   p_id        id of the signal, so that the call can be repeated. Default: a new id
--
--   select plait.signal(:'job', 'approved', '{"by": "anna"}');
--
-- A job that waits for the signal resumes. Sending it again with the same id has no effect. Returns
-- the job's new status.
create or replace function plait.signal(
  p_job uuid, p_name text, p_payload json default null, p_tenant uuid default null,
  p_id uuid default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait._now_after_xid();
  v_tenant uuid := plait._tenant(p_tenant);
  l        plait.live;
begin
  perform plait._require_read_committed();
  if p_name is null or length(p_name) not between 1 and 180 then
    raise exception 'a signal name must have 1 to 180 characters' using errcode = 'PL001';
  end if;
  if octet_length(p_payload::text) > 1048576 then
    raise exception 'a signal payload must be JSON of at most 1 MiB' using errcode = 'PL001';
  end if;
  select * into l from plait.live where job_id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    if exists (select from plait.jobs where id = p_job and tenant_id = v_tenant) then
      raise exception 'job % is final: it accepts no signals', p_job using errcode = 'PL009';
    end if;
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  insert into plait.signals (job_id, id, tenant_id, sent_at, name, payload)
  values (p_job, coalesce(p_id, plait.uuidv7()), v_tenant, v_now, p_name, p_payload)
  on conflict do nothing;
  if found and plait._waits_for_signal(l, p_name) then
    update plait.live set state = 'queued', run_at = plait.now(), wait_on = null, wake_at = null
    where job_id = p_job;
    perform plait._wake_workers(array[l.queue], true);
    return 'queued';
  end if;
  return l.state::text;
end $$;
