-- _resume_job: queue a waiting job, or make it sleep until its start time if that is later.
--
--   moves    waiting -> queued
--   locks    the caller holds the live row
--   raises   nothing
--   called   resume, resume_missed, _resume_or_end_parent, _start_next_serial_child,
--            _start_node_job
create or replace function plait._resume_job(p_live plait.live) returns void
language plpgsql as $$
declare
  v_now timestamptz := plait._now_after_xid();
  -- The start time requested by the enqueue or by a retry. A retry (_retry) stores it in run_at;
  -- otherwise run_at is in the past.
  v_due timestamptz := greatest(
    p_live.run_at,
    case when p_live.attempt = 0 then
           (select j.scheduled_for from plait.jobs j where j.id = p_live.job_id) end);
begin
  if v_due > v_now then
    update plait.live set wait_on = 'sleep', wake_at = v_due where job_id = p_live.job_id;
    return;
  end if;
  update plait.live set state = 'queued', run_at = v_now, wait_on = null, wake_at = null
  where job_id = p_live.job_id;
  perform plait._wake_workers(array[p_live.queue]);
end $$;
