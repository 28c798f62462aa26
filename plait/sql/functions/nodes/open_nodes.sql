-- open_nodes: start the parts of a node job that could not start when the job was enqueued.
--
--   moves    running -> waiting; nothing -> queued, for each node's part
--   locks    the job's live row; then the same as _open_nodes
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; otherwise the same as _open_nodes
--   called   plait.store.nodes.open_nodes
--
-- Called by the leader if the job was scheduled for later, or there were too few nodes. Returns
-- suspended, none if there are still too few nodes, stale if the lease is lost, or canceled if
-- cancellation was requested. The call can be repeated.
create or replace function plait.open_nodes(p_worker int, p_job uuid, p_attempt int, p_seq int)
returns text language plpgsql security definer set search_path = plait, pg_temp
set enable_seqscan = off set lock_timeout = '500ms' as $$
declare
  v_now timestamptz := plait._now_after_xid();
  l     plait.live;
  j     plait.jobs;
  v_id  uuid;
begin
  perform plait._require_read_committed();
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  if l.job_id is null then
    return plait._status_without_lease(p_worker, p_job, p_attempt);
  end if;
  if l.cancel_requested is not null then
    return 'canceled';
  end if;
  select * into j from plait.jobs where id = p_job;
  v_id := plait._open_nodes(
    p_now => v_now, p_job => j, p_metered => l.metered, p_attempt => p_attempt, p_seq => p_seq,
    p_always => false);
  if v_id is null then
    return 'none';
  end if;
  perform plait._suspend(l, v_now, 'fan_out ' || v_id, null);
  return 'suspended';
end $$;
