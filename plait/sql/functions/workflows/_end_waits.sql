-- _end_waits: end the waits of a running job whose conditions are met, and number them.
--
--   moves    nothing
--   locks    the caller holds the job's live row
--   raises   nothing
--   called   await_steps, resume_steps
--
-- Waits are numbered by the time at which their conditions were met. A sleep, a timer or a signal's
-- timeout is met when it is due. A signal is met when it was sent, and a fan-out when it was
-- decided, but not before the wait began. Signals with the same name are assigned to waits in the
-- order in which the waits began. p_waits: end only these waits, as in await_steps; a fan-out that
-- was just opened has no wait yet, and the worker would not expect its end. Returns how many waits
-- were ended.
create or replace function plait._end_waits(
  p_job uuid, p_now timestamptz, p_next int, p_waits json default null
) returns int
language plpgsql set enable_seqscan = off as $$
declare
  v_ended int;
begin
  with open as materialized (
    select s.branch, s.name, s.occurrence, s.seq, s.kind, s.at, s.due_at, s.fan_out_id,
           (s.value ->> 'ended')::int as wanted,
           row_number() over (partition by s.name order by s.seq) as turn
    from plait.steps s
    where s.job_id = p_job and not s.done and s.error is null
      and (
        p_waits is null
        or exists (select from json_to_recordset(p_waits) w(branch text, name text, occurrence int)
                   where w.branch = s.branch and w.name = s.name and w.occurrence = s.occurrence))
  ), sent as materialized (
    select g.id, g.name, g.payload, g.sent_at,
           row_number() over (partition by g.name order by g.sent_at, g.id) as turn
    from plait.signals g
    where g.job_id = p_job and not g.consumed
      and exists (select from open o where o.kind = 'signal')
  ), met as (
    select o.branch, o.name, o.occurrence, o.seq, g.id as signal, g.payload,
           o.kind = 'signal' and g.id is null as late,
           case when g.id is not null then greatest(g.sent_at, o.at)
                when o.kind in ('sleep', 'timer', 'signal') then
                  case when o.due_at <= p_now then o.due_at end
                when f.decided_at is not null then greatest(f.decided_at, o.at)
                when o.kind = 'join' and f.succeeded + f.failed + f.canceled >= o.wanted then
                  p_now end as met_at,
           case when o.kind = 'join' then
                  json_build_object(
                    'decision', f.decision, 'decided_ended', f.decided_ended, 'total', f.total,
                    'ended', f.succeeded + f.failed + f.canceled) end as stands
    from open o
    left join sent g on o.kind = 'signal' and o.name = 'signal ' || g.name and o.turn = g.turn
    left join plait.fan_outs f on f.id = o.fan_out_id
  ), ended as (
    select m.*, p_next + row_number() over (order by m.met_at, m.seq) - 1 as finished
    from met m
    where m.met_at is not null
  ), consumed as (
    update plait.signals g set consumed = true
    from ended e
    where g.job_id = p_job and g.id = e.signal
  ), u as (
    update plait.steps s set
      done = true, finished = e.finished, signal_id = e.signal,
      value = coalesce(e.payload, e.stands), error = case when e.late then 'timeout' end
    from ended e
    where s.job_id = p_job and s.branch = e.branch and s.name = e.name
      and s.occurrence = e.occurrence
    returning 1
  )
  select count(*) into v_ended from u;
  return v_ended;
end $$;
