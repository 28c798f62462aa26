-- cancel: cancel a job. A running job is asked to stop; any other job becomes final immediately.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested
--   locks    the job's live row, then the same as _fan_in
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.cancel, users
--
--   p_reason   stored as the job's error
--
--   select plait.cancel(:'job', p_reason => 'the order was withdrawn');
--
-- Returns the job's new status; a final job keeps its status. If a running job succeeds after the
-- request, the success counts; every other outcome becomes canceled. The leader ends a job whose
-- handler does not stop within the grace period. If the definition has `cancel_grace_s`, a started
-- job is asked to stop even if it is not running, so that its handler can clean up.
create or replace function plait.cancel(
  p_job uuid, p_tenant uuid default null, p_reason text default null
) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_live   plait.live;
  v_status text;
begin
  perform plait._require_read_committed();
  select * into v_live
  from plait.live
  where job_id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    select status::text into v_status from plait.job where id = p_job and tenant_id = v_tenant;
    if not found then
      raise exception 'there is no job %', p_job using errcode = 'PL008';
    end if;
    return v_status;
  end if;
  if v_live.cancel_by is not null
     or cardinality(plait._cancel_with_grace(array[p_job], plait.now(), p_reason)) > 0 then
    return (select l.state from plait.live l where l.job_id = p_job);
  end if;
  if v_live.state = 'running' then
    update plait.live set cancel_requested = plait.now(), cancel_reason = p_reason
    where job_id = p_job and cancel_requested is null;
    perform plait._notify('cancel ' || v_live.worker);
    return 'running';
  end if;
  perform plait._make_final(
    p_live => v_live, p_now => plait.now(), p_status => 'canceled', p_final => 'canceled',
    p_reason => 'canceled', p_error => p_reason);
  perform plait._fan_in(
    plait.now(), array[p_job], array[v_live.fan_out_id], array['canceled'::plait.status]);
  return 'canceled';
end $$;
