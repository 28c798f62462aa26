-- await_event: register a running job for an event. dispatch sends a signal when an event matches.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE; the job's own rows of event_waits
--   raises   PL001 for a match that is not a JSON object of at most 8 KiB
--   called   plait.store.events.await_event
--
-- p_signal: the name of the signal that the job's step waits for. The job is registered once, and
-- only if there is no unconsumed signal with this name. Rows for steps that have ended are removed.
-- Returns false when the lease is lost. The call can be repeated.
create or replace function plait.await_event(
  p_worker int, p_job uuid, p_attempt int, p_branch text, p_signal text, p_event text,
  p_match json default '{}'
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare v_tenant uuid;
begin
  perform plait._require_read_committed();
  if p_match is null or json_typeof(p_match) <> 'object' or octet_length(p_match::text) > 8192 then
    raise exception 'match must be a JSON object of at most 8 KiB' using errcode = 'PL001';
  end if;
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker
  for key share;
  if not found then
    return false;
  end if;
  delete from plait.event_waits w
  where w.job_id = p_job and w.signal <> p_signal and plait._event_wait_is_over(w);
  insert into plait.event_waits (job_id, tenant_id, at, branch, signal, name, index_term, match)
  select p_job, v_tenant, plait.now(), p_branch, p_signal, p_event,
         coalesce((plait._index_terms(p_match::jsonb))[1], ''), p_match::jsonb
  where not exists (
    select from plait.signals g where g.job_id = p_job and g.name = p_signal and not g.consumed)
  on conflict do nothing;
  return true;
end $$;
