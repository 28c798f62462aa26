-- leave: a worker stops. What it still runs is released, without burning a try, and others may claim it at once.
--
--   moves    running -> queued, or -> canceled where that was asked
--   locks    live rows in id order; then the worker's row
--   raises   nothing
--   called   plait.store.workers.leave
create or replace function plait.leave(p_worker int) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_jobs     uuid[];
  v_attempts int[];
begin
  perform plait._require_read_committed();
  select array_agg(job_id order by job_id), array_agg(attempt order by job_id) into v_jobs, v_attempts
    from plait.live where worker = p_worker and state = 'running';
  if v_jobs is not null then
    perform plait._settle(p_worker, plait.now(), v_jobs, v_attempts, array_fill('released'::text, array[cardinality(v_jobs)]), null, null, null);
  end if;
  update plait.workers set state = 'gone', asleep = false, running = 0, seen_at = plait.now() where id = p_worker and state = 'alive';
  return coalesce(cardinality(v_jobs), 0);
end $$;
