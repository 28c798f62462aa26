-- _resume_parent: the parent of a fan-out goes on, if it waits for that fan-out. This gate is the only way.
--
--   moves    waiting -> queued
--   locks    the caller holds the fan-out's row; the parent's live row SKIP LOCKED: who holds it may want the fan-out's
--   raises   nothing
--   called   _fan_in, _decide, rescue
create or replace function plait._resume_parent(p_fan_out plait.fan_outs) returns boolean
language plpgsql as $$
declare
  v_on    text := 'fan_out ' || p_fan_out.id;
  v_queue text;
begin
  select l.queue into v_queue from plait.live l
    where l.job_id = p_fan_out.parent_id and l.state = 'waiting' and l.wait_on = v_on for update skip locked;
  if found then
    update plait.live set state = 'queued', run_at = plait._moment(), wait_on = null, wake_at = null where job_id = p_fan_out.parent_id;
    perform plait._wake(array[v_queue]);
  elsif exists (select from plait.live l where l.job_id = p_fan_out.parent_id and l.wait_on = v_on) then
    return false;  -- somebody holds its row: rescue looks again
  end if;
  update plait.fan_outs set waited_for = null where id = p_fan_out.id;
  return v_queue is not null;
end $$;
