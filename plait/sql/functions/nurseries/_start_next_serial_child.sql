-- _start_next_serial_child: queue the next child of a serial nursery.
--
--   moves    waiting -> queued, for one child
--   locks    the caller holds the fan-out's row; the child's live row SKIP LOCKED, because a
--            transaction that holds it may wait for the fan-out's row
--   raises   nothing
--   called   _fan_in, rescue, resume_missed, retry_tree
--
-- Called when the previous child has ended, and by rescue if the next child was locked then. While
-- the next child is locked, no child has its turn, so none is skipped.
create or replace function plait._start_next_serial_child(p_fan_out plait.fan_outs) returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_next uuid;
  l      plait.live;
begin
  if not (p_fan_out.stop and p_fan_out.failed + p_fan_out.canceled > 0) then
    select j.id into v_next
    from plait.jobs j
    where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id
      and j.fan_out_index > coalesce(
        (select t.fan_out_index from plait.jobs t where t.id = p_fan_out.turn), -1)
      and exists (select from plait.live v where v.job_id = j.id and v.wait_on = 'turn')
    order by j.fan_out_index limit 1;
    select * into l
    from plait.live v
    where v.job_id = v_next and v.wait_on = 'turn' for update skip locked;
  end if;
  update plait.fan_outs set turn = l.job_id where id = p_fan_out.id;
  if l.job_id is not null then
    perform plait._resume_job(l);
  end if;
end $$;
