-- _return_signals: mark the signals that ended these steps as unread.
--
--   moves    nothing
--   locks    the steps and their signals; the caller holds the live row
--   raises   nothing
--   called   await_steps, continue_as_new
--
-- The handler did not receive these signals: the branch that waited was canceled, or the handler
-- ended first. Events stay consumed, because a later wait must not receive an earlier event.
create or replace function plait._return_signals(p_job uuid, p_steps json) returns void
language sql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
  with undelivered as (
    select s.branch, s.name, s.occurrence, s.signal_id
    from plait.steps s
    join json_to_recordset(p_steps) a(branch text, name text, occurrence int)
      on s.job_id = p_job and s.branch = a.branch and s.name = a.name
        and s.occurrence = a.occurrence
    where s.signal_id is not null and s.name not like 'signal event %'
  ), forgotten as (
    update plait.steps s set signal_id = null from undelivered u
    where s.job_id = p_job and s.branch = u.branch and s.name = u.name
      and s.occurrence = u.occurrence
  )
  update plait.signals g set consumed = false from undelivered u
  where g.job_id = p_job and g.id = u.signal_id;
$$;
