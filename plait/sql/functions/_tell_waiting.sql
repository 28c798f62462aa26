-- _tell_waiting: send an event to the jobs that wait for it, each as a signal, once.
--
--   moves    waiting -> queued
--   locks    rows of event_waits, then the jobs' live rows
--   raises   lock_not_available (55P03) when a user's transaction holds a job for longer than the caller's lock_timeout
--   called   dispatch
--
-- At most 1,000 in one call: false when there may be more.
create or replace function plait._tell_waiting(p_event plait.events) returns boolean
language plpgsql set enable_seqscan = off as $$
declare
  v_data jsonb;
  v_seen int := 0;
  w      plait.event_waits;
begin
  if not exists (select from plait.event_waits e where e.tenant_id = p_event.tenant_id and e.name = p_event.name) then
    return true;
  end if;
  begin
    v_data := p_event.data::jsonb;
  exception when data_exception or program_limit_exceeded then
    return true;  -- JSON that jsonb can't hold: nothing can be said of what it contains
  end;
  for w in
    select e.* from plait.event_waits e
    where e.tenant_id = p_event.tenant_id and e.name = p_event.name and e.probe = any(plait._probes(v_data) || ''::text) and v_data @> e.match
    order by e.job_id, e.signal limit 1000 for update
  loop
    v_seen := v_seen + 1;
    if not plait._is_over(w) then
      perform plait.signal(w.job_id, w.signal, p_event.data, w.tenant_id, md5(p_event.id || w.signal)::uuid);
    end if;
    delete from plait.event_waits e where e.job_id = w.job_id and e.signal = w.signal;
  end loop;
  return v_seen < 1000;
end $$;
