-- _apply_strategy: compare a fan-out's counts with its strategy: decide it, or resume its parent.
--
--   moves    the same as _resume_or_end_parent
--   locks    the caller holds the fan-out's row, and for a nursery also the row of its parent's own
--            nursery; the parent's live row SKIP LOCKED
--   raises   nothing
--   called   _add_dependencies, _fan_in, rescue
--
-- Returns the parent if it became final, with the fan-out that it belongs to.
create or replace function plait._apply_strategy(
  p_fan_out plait.fan_outs, p_now timestamptz, out o_job uuid, out o_fan_out uuid,
  out o_final plait.status, out o_tied boolean
) language plpgsql as $$
declare
  v_ended    int := p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled;
  v_lost     int := p_fan_out.failed + p_fan_out.canceled;
  v_total    int := p_fan_out.total;
  v_decision text;
  f          plait.fan_outs;
  r          record;
begin
  if p_fan_out.decided_at is not null then
    return;  -- a late child is counted but changes nothing
  end if;
  if p_fan_out.strategy = 'nursery' then
    -- Until its parent waits for it, a nursery is open: more children may be added.
    if p_fan_out.id = p_fan_out.parent_id and p_fan_out.waited_for is not null then
      -- A job whose handler has returned waits for all its nurseries, including nurseries that an
      -- error interrupted, because their outcomes were never read.
      select sum(o.succeeded + o.failed + o.canceled), sum(o.failed + o.canceled), sum(o.total)
      into v_ended, v_lost, v_total
      from plait.fan_outs o
      where o.parent_id = p_fan_out.parent_id and o.strategy = 'nursery' and o.decided_at is null;
    end if;
    if v_ended = v_total and p_fan_out.waited_for is not null then
      v_decision := case when v_lost = 0 then 'succeeded' else 'failed' end;
    elsif v_ended = v_total and p_fan_out.id <> p_fan_out.parent_id then
      select * into f
      from plait.fan_outs o
      where o.id = p_fan_out.parent_id and o.waited_for is not null;
      if found then
        r := plait._apply_strategy(f, p_now);
        o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
      end if;
    elsif p_fan_out.stop and p_fan_out.failed + p_fan_out.canceled > 0 and not p_fan_out.cancel_due
          and p_fan_out.succeeded + p_fan_out.failed + p_fan_out.canceled < p_fan_out.total then
      update plait.fan_outs set cancel_due = true where id = p_fan_out.id;
    end if;
  elsif p_fan_out.total - v_lost < p_fan_out.needed
        or v_lost > 0 and p_fan_out.on_node_failure = 'fail' then
    v_decision := 'failed';
  elsif p_fan_out.succeeded >= p_fan_out.needed and (p_fan_out.early or v_ended = p_fan_out.total)
        -- If every part that has ended was skipped, wait for the other nodes.
        and (p_fan_out.on_timeout is null or v_ended = p_fan_out.total
             or not plait._all_skipped(p_fan_out)) then
    v_decision := 'succeeded';
  elsif v_ended >= p_fan_out.waited_for then
    perform plait._resume_or_end_parent(p_fan_out, p_now);
  end if;
  if v_decision is not null then
    r := plait._record_decision(p_fan_out, p_now, v_decision);
    o_job := r.o_job; o_fan_out := r.o_fan_out; o_final := r.o_final; o_tied := r.o_tied;
  end if;
end $$;
