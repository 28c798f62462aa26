-- _fan_in: count newly final jobs in their fan-outs, and resume or end the parents.
--
--   moves    waiting -> queued, for a parent whose fan-out is decided or has the children that it
--            waits for; waiting -> any final status, for a parent whose own nursery is decided;
--            waiting -> canceled, for a dependent of a job that failed
--   locks    fan-outs, level by level from the deepest, because an end cascades upward, and by id
--            within a level; then the parents' live rows SKIP LOCKED, so that this never waits for
--            a transaction that waits for a fan-out; rescue resumes parents that were skipped
--   raises   nothing
--   called   cancel, _cancel_rows, _release_running, rescue, resume, _settle,
--            _take_over_leader_jobs
--
-- The caller has made the jobs final. A fan-out is updated once for each batch. p_returned: jobs
-- whose handler has ended and that now wait for their own nursery. p_outcomes: the final status of
-- each of these, if its handler failed; its pending children are canceled. Siblings are never
-- canceled here: the fan-out is marked (cancel_due), and a later transaction cancels them.
create or replace function plait._fan_in(
  p_now timestamptz, p_jobs uuid[], p_fan_outs uuid[], p_finals plait.status[],
  p_returned uuid[] default null, p_outcomes plait.status[] default null
) returns void
language plpgsql set enable_nestloop = on as $$
declare
  f         plait.fan_outs;
  e         record;
  v_depth   int := 32768;
  v_lowest  int;
  v_level   uuid[];
  v_jobs    uuid[];            -- jobs that ended on this level, and the fan-outs that count them
  v_fans    uuid[];
  v_finals  plait.status[];
  v_ended   int;
  v_orphans uuid[];
begin
  with d as (
    delete from plait.dependencies d using unnest(p_jobs, p_finals) x(job, final)
    where d.on_id = x.job
    returning d.on_id as job, d.fan_out_id as fan_out, x.final
  ), x as (
    select * from unnest(p_jobs, p_fan_outs, p_finals) x(job, fan_out, final)
    union all select * from d
    union all select null, r, null from unnest(p_returned) r
  )
  select array_agg(x.job), array_agg(x.fan_out), array_agg(x.final),
         array_agg(x.job) filter (where x.final not in ('succeeded', 'skipped'))
  into p_jobs, p_fan_outs, p_finals, v_orphans
  from x;
  v_orphans := v_orphans
    || (select array_agg(x.id)
        from unnest(p_returned, p_outcomes) x(id, outcome)
        where x.outcome is not null);
  loop
    select max(o.depth), min(o.depth) into v_depth, v_lowest from plait.fan_outs o
      where (o.id = any(p_fan_outs) or o.parent_id = any(v_orphans)) and o.depth < v_depth;
    exit when v_depth is null;
    -- Lock all fan-outs of a job that may end here. All its nurseries together decide its own
    -- nursery, and its end orphans its open children.
    v_level := array(
      select o.id
      from plait.fan_outs o
      where (o.id = any(p_fan_outs) or o.parent_id = any(v_orphans)
             or o.parent_id = any(p_fan_outs))
        and o.depth = v_depth
      union
      select o.parent_id
      from plait.fan_outs o
      where o.id = any(p_fan_outs) and o.depth = v_depth and o.strategy = 'nursery');
    perform from plait.fan_outs o where o.id = any(v_level) order by o.id for no key update;
    v_jobs := null; v_fans := null; v_finals := null;
    if v_orphans is not null then
      update plait.fan_outs set cancel_due = true
      where parent_id = any(v_orphans) and depth = v_depth
        and (cancel_on_parent_failure or strategy = 'nursery') and not cancel_due
        and succeeded + failed + canceled < total;
    end if;

    for f in
      update plait.fan_outs o set
        succeeded = o.succeeded + c.succeeded, failed = o.failed + c.failed,
        canceled = o.canceled + c.canceled,
        waited_for = case when o.id = any(p_returned) then o.total else o.waited_for end,
        parent_final = coalesce(o.parent_final, p_outcomes[array_position(p_returned, o.id)])
      from (select x.fan_out,
                   count(*) filter (where x.final in ('succeeded', 'skipped')) as succeeded,
                   count(*) filter (where x.final in ('failed', 'dead_letter')) as failed,
                   count(*) filter (where x.final = 'canceled') as canceled
            from unnest(p_fan_outs, p_finals) x(fan_out, final)
            where x.fan_out is not null
            group by 1) c
      where o.id = c.fan_out and o.depth = v_depth
      returning o.*
    loop
      if f.streamed then
        v_ended := f.succeeded + f.failed + f.canceled;
        insert into plait.fan_out_order (fan_out_id, tenant_id, position, fan_out_index)
        select f.id, f.tenant_id, v_ended - x.n + x.i, x.fan_out_index
        from (select u.fan_out_index, row_number() over (order by u.fan_out_index) as i,
                     count(*) over () as n
              from (select (
                      select j.fan_out_index from plait.jobs j where j.id = y.job) as fan_out_index
                    from unnest(p_jobs, p_fan_outs) y(job, fan_out)
                    where y.fan_out = f.id) u) x;
      end if;
      if f.serial and (f.turn is null or f.turn = any(p_jobs)) then
        perform plait._start_next_serial_child(f);
      end if;
      e := plait._apply_strategy(f, p_now);
      if e.o_job is not null then
        -- The parent is now final. It is counted on the next level, in the fan-out that it belongs
        -- to and in those of its dependents.
        v_jobs := v_jobs || e.o_job; v_fans := v_fans || e.o_fan_out;
        v_finals := v_finals || e.o_final;
        if e.o_tied then
          with d as (delete from plait.dependencies where on_id = e.o_job returning fan_out_id)
          select v_jobs || array_agg(e.o_job), v_fans || array_agg(d.fan_out_id),
                 v_finals || array_agg(e.o_final)
          into v_jobs, v_fans, v_finals
          from d;
          if e.o_final not in ('succeeded', 'skipped') then
            update plait.fan_outs set cancel_due = true
            where parent_id = e.o_job and (cancel_on_parent_failure or strategy = 'nursery')
              and not cancel_due and succeeded + failed + canceled < total;
          end if;
        end if;
      end if;
    end loop;
    if v_depth = v_lowest then  -- all earlier jobs are counted
      p_jobs := v_jobs; p_fan_outs := v_fans; p_finals := v_finals; v_orphans := null;
    else
      p_jobs := p_jobs || v_jobs; p_fan_outs := p_fan_outs || v_fans;
      p_finals := p_finals || v_finals;
    end if;
  end loop;
end $$;
