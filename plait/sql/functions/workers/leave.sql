-- leave: release a stopping worker's running jobs, so that other workers can claim them now.
--
--   moves    running -> queued, or -> canceled if that was requested
--   locks    the worker's row, against concurrent claims; then live rows SKIP LOCKED
--   raises   nothing
--   called   plait.store.workers.leave
--
-- A release does not count as an attempt used. A job's row may be locked, by a settle whose
-- connection broke or by an operator's cancel. It is skipped, and the worker becomes `lost` instead
-- of `gone`, so that rescue requeues the job.
create or replace function plait.leave(p_worker int) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now  timestamptz;
  v_back int;
  v_node text;
begin
  perform plait._require_read_committed();
  perform from plait.workers where id = p_worker and state = 'alive' for update;
  if not found then
    return 0;
  end if;
  v_now := plait._now_after_xid();
  v_back := plait._release_running(p_worker, v_now, 'left', '{}', '{}');
  update plait.workers set
    asleep = false, running = 0, prefetched = 0, seen_at = v_now,
    state = case when exists (select from plait.live
                              where worker = p_worker and state = 'running') then 'lost'
                 else 'gone' end
  where id = p_worker
  returning node into v_node;
  if v_node is not null then
    perform plait._update_node(v_node, 'left');
  end if;
  return v_back;
end $$;
