-- _lock_attempt: lock the live row of a running attempt: the fence of a durable job's writes.
--
--   moves    nothing
--   locks    the live row; the leader's row FOR SHARE, for a leader's job
--   raises   nothing: without the lease, a null row
--   called   after_many, await_steps, continue_as_new, open_fan_out, open_nodes, open_nursery,
--            spawn_many
create or replace function plait._lock_attempt(p_worker int, p_job uuid, p_attempt int)
returns plait.live language sql volatile as $$
  select l
  from plait.live l
  where l.job_id = p_job and l.attempt = p_attempt and l.worker + 0 = p_worker
    and (l.lane not in ('leader', 'suspect:leader') or plait._still_leads(p_worker, l.run_at))
  for update $$;
