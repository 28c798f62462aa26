-- _record_decision: record the decision of a fan-out, once, and resume or end its parent.
--
--   moves    the same as _resume_or_end_parent
--   locks    the caller holds the fan-out's row; the parent's live row SKIP LOCKED
--   raises   nothing
--   called   abandon_fan_outs, _apply_strategy, await_steps, resume
--
-- Children that have not ended by now are late. They are left out of the results, whatever their
-- outcome, so that every replay reads the same results.
create or replace function plait._record_decision(
  p_fan_out plait.fan_outs, p_now timestamptz, p_decision text,
  out o_job uuid, out o_fan_out uuid, out o_final plait.status, out o_tied boolean
) language plpgsql as $$
declare
  f       plait.fan_outs;
  v_ended int := p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled;
  r       record;
begin
  update plait.fan_outs o set
    decided_at = p_now, decision = p_decision, decided_ended = v_ended,
    rule = case when o.on_timeout is null
                     or not exists (select from plait.live l where l.job_id = o.parent_id) then
                  null  -- the node job was canceled, so its nodes did not decide it
                when p_decision = 'failed' then
                  case o.on_node_failure when 'fail' then 'node_failed' else 'quorum_lost' end
                when p_decision = 'succeeded' and p_fan_out.succeeded >= o.needed then 'quorum'
                else 'timeout' end,
    cancel_due = v_ended < o.total
      and (o.cancel_due or (p_decision <> 'succeeded' or o.cancel_late) and o.cancel_remaining),
    left_open = case when v_ended < o.total then
                       array(select (select j.fan_out_index from plait.jobs j where j.id = l.job_id)
                             from plait.live l
                             where l.root_id = o.root_id and l.fan_out_id = o.id
                             order by 1) end
  where o.id = p_fan_out.id and o.decided_at is null
  returning o.* into f;
  if found and f.waited_for is not null then
    r := plait._resume_or_end_parent(f, p_now);
    o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
  end if;
end $$;
