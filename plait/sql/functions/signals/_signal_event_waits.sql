-- _signal_event_waits: send an event, as a signal, once to each job that waits for it.
--
--   moves    waiting -> queued
--   locks    rows of event_waits and the jobs' live rows, SKIP LOCKED. Never waits
--   raises   nothing
--   called   dispatch
--
-- A job whose row is locked must not delay the event for other jobs: its signal is stored, its row
-- in event_waits is marked, and `resume` resumes the job once its row is unlocked. A locked row in
-- event_waits needs no signal: another event is about to send one, or the wait is over. One call
-- handles at most 1,000 rows and returns false if there may be more.
create or replace function plait._signal_event_waits(p_event plait.events) returns boolean
language plpgsql set enable_seqscan = off as $$
declare
  v_data jsonb;
  v_seen int := 0;
  v_id   uuid;
  w      plait.event_waits;
begin
  if not exists (select from plait.event_waits e
                 where e.tenant_id = p_event.tenant_id and e.name = p_event.name
                   and not e.told) then
    return true;
  end if;
  begin
    v_data := p_event.data::jsonb;
  exception when data_exception or program_limit_exceeded then
    return true;  -- jsonb can't store this JSON, so nothing can match it
  end;
  for w in
    select e.* from plait.event_waits e
    where e.tenant_id = p_event.tenant_id and e.name = p_event.name and not e.told
      and e.index_term = any(plait._index_terms(v_data) || ''::text) and v_data @> e.match
    order by e.job_id, e.signal limit 1000 for update of e skip locked
  loop
    v_seen := v_seen + 1;
    v_id := md5(p_event.id || w.signal)::uuid;
    if plait._event_wait_is_over(w) then
      delete from plait.event_waits e where e.job_id = w.job_id and e.signal = w.signal;
      continue;
    end if;
    perform from plait.live l where l.job_id = w.job_id for no key update skip locked;
    if found then
      perform plait.signal(w.job_id, w.signal, p_event.data, w.tenant_id, v_id);
      delete from plait.event_waits e where e.job_id = w.job_id and e.signal = w.signal;
    else
      insert into plait.signals (job_id, id, tenant_id, sent_at, name, payload)
      values (w.job_id, v_id, w.tenant_id, plait._now_after_xid(), w.signal, p_event.data)
      on conflict do nothing;
      update plait.event_waits e set told = true where e.job_id = w.job_id and e.signal = w.signal;
    end if;
  end loop;
  return v_seen < 1000;
end $$;
