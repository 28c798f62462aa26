-- worker_history: workers that were lost or left, the last first.
--
--   moves    nothing
--   locks    nothing
--   raises   PL012 for a state that is not final
--   called   plait.store.workers.history, users
--
--   p_state    only workers in this state: lost or gone
--   p_host     only workers on this host
--   p_before   cursor: the last id of the previous page
--
--   select id, state, host, ended_at, end_reason, requeued from plait.worker_history('lost');
--
-- The leader deletes a worker 30 days after it ended (prune), so there is nothing older.
-- end_reason:
-- lease_expired, or blocked_loop if a handler blocked its event loop at the last heartbeat, for
-- lost workers; left or restored (after_restore) for others. held: how many jobs were assigned to
-- it when it ended. requeued, dead_lettered (poison jobs) and canceled: how rescue moved them;
-- clearing: not all are moved yet. released: jobs that it released while it shut down.
create or replace function plait.worker_history(
  p_state text default null, p_host text default null, p_before int default null,
  p_limit int default 50
) returns setof plait.worker
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
as $$
declare
  v_at  timestamptz := 'infinity';
  v_id  int := 2147483647;
  v_ids int[];
begin
  if p_state not in ('gone', 'lost') then
    raise exception 'a state must be lost or gone, got %', p_state using errcode = 'PL012';
  end if;
  if p_before is not null then
    select w.ended_at, w.id into v_at, v_id from plait.workers w where w.id = p_before;
    if v_at is null then
      return;  -- its row is deleted, so all older ones are deleted too
    end if;
  end if;
  if p_state = 'lost' then
    v_ids := array(
      select w.id
      from plait.workers w
      where w.state = 'lost' and (w.ended_at, w.id) < (v_at, v_id)
        and (p_host is null or w.host = p_host)
      order by w.ended_at desc, w.id desc limit plait._page_size(p_limit));
  else
    v_ids := array(
      select w.id
      from plait.workers w
      where w.state <> 'alive' and (w.ended_at, w.id) < (v_at, v_id)
        and (p_state is null or w.state = p_state) and (p_host is null or w.host = p_host)
      order by w.ended_at desc, w.id desc limit plait._page_size(p_limit));
  end if;
  return query
    select w.*
    from plait.worker w
    where w.id = any(v_ids)
    order by w.ended_at desc, w.id desc;
end $$;
