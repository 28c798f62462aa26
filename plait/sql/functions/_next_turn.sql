-- _next_turn: the next child of a serial nursery may start.
--
--   moves    waiting -> queued, for one child
--   locks    the caller holds the fan-out's row; the child's live row SKIP LOCKED: who holds it may want the fan-out's
--   raises   nothing
--   called   _fan_in, when the child whose turn it was has ended; rescue, when the next one was locked then
create or replace function plait._next_turn(p_fan_out plait.fan_outs) returns void
language plpgsql set enable_seqscan = off as $$
declare l plait.live;
begin
  if not (p_fan_out.stop and p_fan_out.failed + p_fan_out.canceled > 0) then
    select v.* into l from plait.jobs j join plait.live v on v.job_id = j.id
      where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and v.wait_on = 'turn'
        and j.fan_out_index > coalesce((select t.fan_out_index from plait.jobs t where t.id = p_fan_out.turn), -1)
      order by j.fan_out_index limit 1 for update of v skip locked;
  end if;
  update plait.fan_outs set turn = l.job_id where id = p_fan_out.id;
  if l.job_id is not null then
    perform plait._release(l);
  end if;
end $$;
