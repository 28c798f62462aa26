-- abandon_fan_outs: stop waiting for fan-outs of a running job, and cancel their open children.
--
--   moves    nothing; open children are canceled in a later transaction (cancel_due)
--   locks    the live row FOR KEY SHARE; the fan-outs, in order of id
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call
--   called   plait.store.workflows.abandon_fan_outs
--
-- Fan-outs that are decided or were opened with cancel_remaining=False do not change. The call can
-- be repeated. Returns false when the lease is lost.
create or replace function plait.abandon_fan_outs(
  p_worker int, p_job uuid, p_attempt int, p_fan_outs uuid[]
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare f plait.fan_outs;
begin
  perform plait._require_read_committed();
  perform from plait.live l
  where l.job_id = p_job and l.attempt = p_attempt and l.worker + 0 = p_worker for key share;
  if not found then
    return false;
  end if;
  for f in
    select *
    from plait.fan_outs o
    where o.id = any(p_fan_outs) and o.parent_id = p_job and o.decided_at is null
      and o.cancel_remaining and o.strategy not in ('nursery', 'after')
    order by o.id for no key update
  loop
    perform plait._record_decision(f, plait.now(), 'failed');
  end loop;
  return true;
end $$;
