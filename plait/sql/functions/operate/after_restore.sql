-- after_restore: invalidate all leases in a restored backup. Call it before anything else.
--
--   moves    running -> queued, or -> canceled if that was requested
--   locks    workers in id order, then the same as _release_running; schedules; the leader's row
--   raises   PL012 for a time in the future
--   called   plait.store.health.after_restore, users
--
--   p_until   schedules skip every instant up to this time. Default: now
--
--   select * from plait.after_restore();
--
-- If a worker of the old database connects, its next call fails, because its lease is invalid. Its
-- jobs are queued again, which does not count as an attempt used. New worker ids and terms are far
-- above any that the old database can have assigned since the backup, so an old process is never
-- mistaken for a new one. Schedules skip every instant up to p_until, because its job may have run
-- since the backup. All browser sessions and stream tokens are deleted.
--
-- The stored transaction id has no meaning on the new server, so it is replaced.
create or replace function plait.after_restore(
  p_until timestamptz default null, out o_workers int, out o_jobs int, out o_schedules int
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now timestamptz := plait._now_after_xid();
  v_far constant int := 1000000;
  w     record;
  v_back record;
begin
  perform plait._require_read_committed();
  if p_until > v_now then
    raise exception 'until must not be in the future, got %', p_until using errcode = 'PL012';
  end if;
  o_workers := 0;
  o_jobs := 0;
  for w in
    select id, node from plait.workers where state = 'alive' or clearing order by id for update
  loop
    o_workers := o_workers + 1;
    v_back := plait._release_running(w.id, v_now, 'restored', '{}', '{}');
    o_jobs := o_jobs + v_back.o_released + v_back.o_canceled;
    update plait.workers set
      asleep = false, running = 0, prefetched = 0,
      state = case state when 'alive' then 'gone' else state end,
      ended_at = coalesce(ended_at, v_now), end_reason = coalesce(end_reason, 'restored'),
      released = released + v_back.o_released, canceled = canceled + v_back.o_canceled,
      clearing = exists (select from plait.live where worker = w.id and state = 'running')
    where id = w.id;
    if w.node is not null then
      perform plait._update_node(w.node, 'left');
    end if;
  end loop;
  perform setval(pg_get_serial_sequence('plait.workers', 'id'),
                 nextval(pg_get_serial_sequence('plait.workers', 'id')) + v_far);
  update plait.leader set
    holder = 'restored', term = term + v_far, since = v_now, expires_at = v_now
  where name = 'main';
  update plait.triggers set
    cursor_at = coalesce(p_until, v_now), next_at = null, error = null, revision = revision + 1
  where kind = 'schedule' and deleted_at is null and cursor_at < coalesce(p_until, v_now);
  get diagnostics o_schedules = row_count;
  delete from plait.sessions;
  delete from plait.job_tokens where kind = 'stream';
  update plait.rolled set seen_at = v_now, seen_xid = pg_current_xact_id();
end $$;
