-- _count_minutes: recount enqueued jobs and outcomes of attempts, for a range of minutes.
--
--   moves    nothing
--   locks    the caller holds the lock of roll_up
--   raises   nothing
--   called   roll_up
create or replace function plait._count_minutes(p_from timestamptz, p_to timestamptz) returns void
language plpgsql set enable_seqscan = off as $$
-- clock: ids contain the real time
declare v_shift interval := clock_timestamp() - plait.now();
begin
  delete from plait.minutes where minute >= p_from and minute < p_to;
  insert into plait.minutes (
    tenant_id, minute, succeeded, failed, dead_letter, canceled, skipped, retried, lost, run_s)
  select a.tenant_id, date_trunc('minute', a.finished_at),
         count(*) filter (where a.final = 'succeeded'), count(*) filter (where a.final = 'failed'),
         count(*) filter (where a.final = 'dead_letter'),
         count(*) filter (where a.final = 'canceled'), count(*) filter (where a.final = 'skipped'),
         count(*) filter (where a.final is null and a.status in ('failed', 'timeout')),
         count(*) filter (where a.status = 'lost'),
         coalesce(sum(extract(epoch from a.finished_at - a.started_at)), 0)
  from plait.attempts a
  where a.finished_at >= p_from and a.finished_at < p_to
  group by 1, 2;
  insert into plait.minutes as m (tenant_id, minute, enqueued)
  select j.tenant_id, date_trunc('minute', j.created_at), count(*)
  from plait.jobs j
  where j.id >= plait._uuid_floor(greatest(p_from + v_shift - interval '10 minutes', 'epoch'))
    and j.id < plait._uuid_floor(p_to + v_shift + interval '1 minute') and j.created_at >= p_from
    and j.created_at < p_to
  group by 1, 2
  on conflict (tenant_id, minute) do update set enqueued = excluded.enqueued;
end $$;
