-- _begin_serial: assign a queue that became serial to its started workflows; false: not yet.
--
--   moves    nothing
--   locks    the queue's row, SKIP LOCKED: never waits
--   raises   nothing
--   called   await_claims, _claim
--
-- The started workflows are known only after the claims that still saw the queue as parallel have
-- ended. These workflows continue one after the other. The next root starts when all of them are
-- final. await_claims calls this function after the change; if that does not happen within 10 s,
-- _claim does.
create or replace function plait._begin_serial(p_queue text) returns boolean
language plpgsql as $$
begin
  perform from plait.queues where name = p_queue and settling for update skip locked;
  if not found then
    return exists (select from plait.queues where name = p_queue and not settling);
  end if;
  update plait.queues set
    settling = false,
    roots = array(select coalesce(l.root_id, l.job_id)
                  from plait.live l
                  where l.queue = p_queue
                    and (l.state = 'running' or l.root_id is not null
                         or l.attempt > 0 and plait._has_started(l.job_id))
                  group by 1
                  order by min(l.run_at), 1)
  where name = p_queue;
  return true;
end $$;
