-- resume_missed: resume waiting jobs whose condition is met: a safety net that should find none.
--
--   moves    waiting -> queued
--   locks    live rows and fan-outs, SKIP LOCKED. Never waits
--   raises   nothing
--   called   plait.store.leader.resume_missed
--
-- Normally each wait ends in the transaction that meets its condition. If a bug prevents that, this
-- function finds jobs whose signal is stored, and serial nurseries in which no child has its turn.
-- rescue handles fan-outs, and resume handles sleeps and timeouts. Returns the number found, which
-- should be 0.
create or replace function plait.resume_missed(
  p_limit int default 1000, out o_resumed int, out o_took_s float8
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_began timestamptz := clock_timestamp();  -- clock: measures itself
  l       plait.live;
  f       plait.fan_outs;
begin
  perform plait._require_read_committed();
  o_resumed := 0;
  for l in
    select v.*
    from plait.live v
    where v.state = 'waiting' and (v.wait_on like 'signal %' or v.wait_on = 'several')
      and exists (select from plait.signals s
                  where s.job_id = v.job_id and not s.consumed
                    and (v.wait_on = 'signal ' || s.name
                         or v.wait_on = 'several'
                            and exists (
                              select from plait.steps p
                              where p.job_id = v.job_id and not p.done and p.error is null
                                and p.kind = 'signal' and p.name = 'signal ' || s.name)))
    order by v.job_id limit p_limit for update skip locked
  loop
    perform plait._resume_job(l);
    o_resumed := o_resumed + 1;
  end loop;
  for f in
    select o.*
    from plait.fan_outs o
    where o.id in (
            select v.fan_out_id from plait.live v where v.state = 'waiting' and v.wait_on = 'turn')
      and o.decided_at is null and not o.cancel_due
      and not exists (select from plait.live t where t.job_id = o.turn)
    order by o.id limit p_limit for no key update skip locked
  loop
    perform plait._start_next_serial_child(f);
    o_resumed := o_resumed + 1;
  end loop;
  o_took_s := extract(epoch from clock_timestamp() - v_began);  -- clock: as above
end $$;
