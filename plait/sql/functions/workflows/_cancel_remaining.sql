-- _cancel_remaining: cancel the open children of a fan-out and their descendants.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested
--   locks    the fan-out, live rows, and as _lock_affected_fan_outs, SKIP LOCKED. Never waits
--   raises   nothing
--   called   cancel_remaining, gather
--
-- Runs in a separate transaction, never in one that ends a child. In a nursery, running children
-- are not interrupted, unless the parent failed and cancel_on_parent_failure is set. If a sibling
-- failed, children that have not started (since their last retry) are canceled. If the parent
-- failed, children that wait for a retry are canceled too, unless they have children. In a node job
-- that succeeded, only parts that are not running are canceled: a late node finishes its work.
create or replace function plait._cancel_remaining(
  p_fan_out plait.fan_outs, p_now timestamptz, p_limit int default 10000
) returns int
language plpgsql set enable_seqscan = off as $$
declare
  v_orphans boolean := exists (select from plait.fan_outs o
                               where o.id = p_fan_out.parent_id and o.parent_final is not null)
    or not exists (select from plait.live l where l.job_id = p_fan_out.parent_id);
  v_nursery boolean := p_fan_out.strategy = 'nursery';
  v_late    boolean := p_fan_out.on_timeout is not null and p_fan_out.decision = 'succeeded'
    and v_orphans
    and (select a.final in ('succeeded', 'skipped')
         from plait.attempts a
         where a.job_id = p_fan_out.parent_id
         order by a.attempt desc limit 1);
  v_pending boolean := v_late
    or v_nursery and not (v_orphans and p_fan_out.cancel_on_parent_failure);
  v_reason  text := case when p_fan_out.on_timeout is not null then 'job_final'
                         when not v_nursery then 'fan_out'
                         when v_orphans then 'parent_failed'
                         else 'sibling_failed' end;
  v_error   text :=
    case when p_fan_out.on_timeout is not null then 'the node job ended before this part'
         when v_nursery and not v_orphans then 'a sibling failed before this job could start'
         when p_fan_out.decision = 'timeout' then 'its fan-out timed out'
         when p_fan_out.decision = 'failed' then 'its fan-out failed'
         when p_fan_out.cancel_late and p_fan_out.decision = 'succeeded' then
           'its fan-out had already succeeded'
         else 'its parent ended' end;
  v_jobs    uuid[];
  c         record;
begin
  perform from plait.fan_outs where id = p_fan_out.id for no key update skip locked;
  if not found then
    return 0;   -- the fan-out is locked: the leader calls this again
  end if;
  v_jobs := array(select l.job_id
                  from plait.live l
                  where l.root_id = p_fan_out.root_id and l.fan_out_id = p_fan_out.id
                    and l.cancel_requested is null and l.cancel_by is null
                    and (not v_pending
                         or l.state <> 'running'
                            and (v_late or not plait._has_started(l.job_id)
                                 or v_orphans and l.state <> 'waiting' and not l.tied))
                  limit p_limit);
  if cardinality(v_jobs) > 0 then
    c := plait._cancel_rows(p_now, v_jobs, v_reason, v_error, p_free => true);
    update plait.fan_outs set cancel_due = true
    where parent_id = any(c.o_canceled) and not cancel_due and succeeded + failed + canceled < total
      and strategy <> 'after';
  end if;
  if cardinality(v_jobs) < p_limit
     and not exists (select from plait.live l
                     where l.root_id = p_fan_out.root_id and l.fan_out_id = p_fan_out.id
                       and l.cancel_requested is null and l.cancel_by is null
                       and (not v_pending
                            or l.state <> 'running'
                               and (v_late or not plait._has_started(l.job_id)
                                    or v_orphans and l.state <> 'waiting' and not l.tied))) then
    update plait.fan_outs set cancel_due = false where id = p_fan_out.id and cancel_due;
  end if;
  return cardinality(v_jobs);
end $$;
