-- list_workers: workers that are alive, and workers that were lost or left within p_since.
--
--   moves    nothing
--   locks    nothing
--   raises   PL012 for an unknown state
--   called   findings, plait.store.workers.get_worker, plait.store.workers.list_workers, users
--
--   p_since    how long lost and stopped workers are listed
--   p_state    only workers in this state: alive, stale, lost or gone
--   p_worker   only the worker with this id, however long ago it ended
--
--   select id, state, host, queues, running from plait.list_workers();
--
-- A state is alive, lost (its lease expired) or gone (it left). stale: alive, but its heartbeat is
-- overdue by half a lease. p_state `alive` leaves out stale workers. expired: its lease has
-- expired, and the leader has not declared it lost yet; it serves no queue. prefetched: claimed
-- jobs that wait for a slot, as of the last heartbeat; their status is `running` like that of jobs
-- that have started. leads: its process leads. blocked_since: since when a handler has blocked its
-- event loop, as of the last heartbeat; blocked_job is null if the worker could not determine which
-- job it is.
-- worker_history explains the columns of workers that ended.
create or replace function plait.list_workers(
  p_since interval default '1 hour', p_state text default null, p_worker int default null
) returns setof plait.worker
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
as $$
declare
  v_since timestamptz := plait.now() - p_since;
  v_ids   int[] := array[p_worker];
begin
  if p_state not in ('alive', 'stale', 'gone', 'lost') then
    raise exception 'a state must be alive, stale, lost or gone, got %', p_state
      using errcode = 'PL012';
  end if;
  if p_worker is null then
    -- by two indexes, because most rows are of workers that ended long ago
    v_ids := array(
      select w.id from plait.workers w where w.state = 'alive'
      union all
      select w.id from plait.workers w where w.state <> 'alive' and w.ended_at > v_since);
  end if;
  return query
    select w.*
    from plait.worker w
    where w.id = any(v_ids)
      and (p_state is null
           or case p_state when 'alive' then w.state = 'alive' and not w.stale
                   when 'stale' then w.stale
                   else w.state = p_state end)
    order by w.id;
end $$;
