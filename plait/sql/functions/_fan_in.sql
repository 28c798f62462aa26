-- _fan_in: jobs have become final: their fan-outs count them, once a batch, and whatever is decided by that goes on.
--
--   moves    waiting -> queued, for a parent whose fan-out is decided, or has what it waits for
--   locks    the caller has ended the jobs; fan-outs, deepest first; then parents' live rows SKIP LOCKED, so that nothing waits here
--            for who waits for a fan-out; who is passed by is resumed by rescue
--   raises   nothing
--   called   by whatever ends jobs: _settle, cancel, rescue, _give_back, cancel_tree
--
-- Siblings are never canceled here: the fan-out is marked, and a later transaction does it (cancel_due).
create or replace function plait._fan_in(p_now timestamptz, p_jobs uuid[], p_fan_outs uuid[], p_finals plait.status[]) returns void
language plpgsql set enable_nestloop = on as $$
declare
  f         plait.fan_outs;
  v_ended   int;
  v_orphans uuid[];
begin
  select array_agg(x.job) into v_orphans from unnest(p_jobs, p_finals) x(job, final) where x.final not in ('succeeded', 'skipped');
  perform from plait.fan_outs where id = any(p_fan_outs) or parent_id = any(v_orphans) order by depth desc, id for no key update;
  if v_orphans is not null then
    update plait.fan_outs set cancel_due = true
      where parent_id = any(v_orphans) and cancel_on_parent_failure and not cancel_due and succeeded + failed + canceled < total;
  end if;

  for f in
    update plait.fan_outs o
      set succeeded = o.succeeded + e.succeeded, failed = o.failed + e.failed, canceled = o.canceled + e.canceled
    from (select x.fan_out, count(*) filter (where x.final in ('succeeded', 'skipped')) as succeeded,
                 count(*) filter (where x.final in ('failed', 'dead_letter')) as failed,
                 count(*) filter (where x.final = 'canceled') as canceled
          from unnest(p_fan_outs, p_finals) x(fan_out, final) where x.fan_out is not null group by 1) e
    where o.id = e.fan_out
    returning o.*
  loop
    v_ended := f.succeeded + f.failed + f.canceled;
    if f.streamed then
      insert into plait.fan_out_order (fan_out_id, tenant_id, position, fan_out_index)
      select f.id, f.tenant_id, v_ended - x.n + x.i, x.fan_out_index
      from (select u.fan_out_index, row_number() over (order by u.fan_out_index) as i, count(*) over () as n
            from (select (select j.fan_out_index from plait.jobs j where j.id = e.job) as fan_out_index
                  from unnest(p_jobs, p_fan_outs) e(job, fan_out) where e.fan_out = f.id) u) x;
    end if;
    if f.decided_at is not null then
      continue;  -- a late child: it is counted, and changes nothing
    end if;
    if f.total - f.failed - f.canceled < f.needed then
      perform plait._decide(f, p_now, 'failed');
    elsif f.succeeded >= f.needed and (f.early or v_ended = f.total) then
      perform plait._decide(f, p_now, 'succeeded');
    elsif v_ended >= f.waited_for then
      perform plait._resume_parent(f);
    end if;
  end loop;
end $$;
