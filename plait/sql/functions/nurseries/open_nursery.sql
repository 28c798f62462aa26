-- open_nursery: open a nursery that a running job will wait for.
--
--   moves    nothing
--   locks    the job's live row, for fencing
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; PL009 if the job's parent does not allow it to have children
--   called   plait.store.nurseries.open_nursery
--
-- Returns ready, stale if the lease is lost, or canceled if cancellation was requested. The call
-- can be repeated.
create or replace function plait.open_nursery(
  p_worker int, p_job uuid, p_attempt int, p_nursery uuid, p_name text, p_occurrence int, p_seq int,
  p_serial boolean, p_stop boolean, p_nested boolean, p_cancel_on_parent_failure boolean,
  p_branch text default '', p_finished int default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp set lock_timeout = '500ms' as $$
declare
  l plait.live;
  j plait.jobs;
begin
  perform plait._require_read_committed();
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  if l.job_id is null or l.cancel_requested is not null then
    return case when l.job_id is null then 'stale' else 'canceled' end;
  end if;
  select * into j from plait.jobs where id = p_job;
  if exists (select from plait.fan_outs o where o.id = j.fan_out_id and not o.nested) then
    raise exception 'job % may not have children: its parent does not allow nested children',
      p_job using errcode = 'PL009';
  end if;
  -- if an error interrupts the block, the job still waits for its open children
  perform plait._own_nursery(j);
  insert into plait.fan_outs (
    id, tenant_id, parent_id, root_id, created_at, depth, total, needed, early, streamed, nested,
    cancel_remaining, cancel_on_parent_failure, strategy, serial, stop)
  values (p_nursery, l.tenant_id, p_job, coalesce(j.root_id, p_job), plait.now(),
          coalesce(j.depth, 0) + 1, 0, 0, false, false, p_nested, false, p_cancel_on_parent_failure,
          'nursery', p_serial, p_stop)
  on conflict do nothing;
  insert into plait.steps (
    job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, name, kind, branch, finished)
  values (p_job, l.tenant_id, p_nursery, plait.now(), p_seq, p_occurrence, p_attempt, p_name,
          'nursery', p_branch, p_finished)
  on conflict do nothing;
  return 'ready';
end $$;
