-- _add_dependencies: make new jobs wait for other jobs.
--
--   moves    waiting -> queued, if all have succeeded already; -> canceled, if one has failed
--   locks    live rows of the jobs to wait for, in id order, so that none of them ends before this
--            commits
--   raises   PL001 for a job that waits for itself or a later job, PL008 if a job does not exist
--   called   enqueue_many
--
-- A job's dependencies are stored as a fan-out of the job, with other jobs instead of children. Its
-- depth is below 0, and below the depth of the dependencies of these jobs, because their ends
-- cascade to it.
create or replace function plait._add_dependencies(
  p_now timestamptz, p_ids uuid[], p_policies text[]
) returns void
language plpgsql as $$
declare
  r       record;
  f       plait.fan_outs;
  v_bad   uuid;
  v_total int;
  v_depth int;
begin
  perform from plait.live l
  where (l.job_id, l.tenant_id) in (
    select u, j.tenant_id from plait.jobs j cross join unnest(j.after) u where j.id = any(p_ids))
  -- only this tenant's rows: another tenant's job is rejected below, without waiting for its row
  order by l.job_id
  for no key update;
  for r in
    select j.id, j.tenant_id, coalesce(i.policy, 'cancel') as policy,
           array(select distinct u from unnest(j.after) u order by 1) as after
    from unnest(p_ids, p_policies) with ordinality i(id, policy, n)
    join plait.jobs j on j.id = i.id
    where j.after is not null
    order by i.n
  loop
    if r.policy not in ('cancel', 'run') then
      raise exception 'on_dependency_failure must be cancel or run, got %',
        quote_literal(left(r.policy, 80)) using errcode = 'PL001';
    end if;
    select u into v_bad
    from unnest(r.after) u
    where not exists (select from plait.jobs j where j.id = u and j.tenant_id = r.tenant_id)
    limit 1;
    if found then
      raise exception 'there is no job % to wait for', v_bad using errcode = 'PL008';
    end if;
    -- Within a call, a job may wait only for jobs that come before it. So there are no cycles, and
    -- the dependencies of these jobs are already stored.
    select u into v_bad
    from unnest(r.after) u
    join plait.jobs j on j.id = u
    where j.after is not null
      and not exists (select from plait.fan_outs o where o.parent_id = u and o.strategy = 'after')
    limit 1;
    if found then
      raise exception 'a job can wait only for jobs that were enqueued before it, not for itself or a later job, got %',
        v_bad using errcode = 'PL001';
    end if;
    v_total := cardinality(r.after);
    v_depth := least(0,
                     (select min(o.depth)
                      from plait.fan_outs o
                      where o.parent_id = any(r.after) and o.strategy = 'after')) - 1;
    if v_depth < -30000 then
      raise exception 'a dependency graph must be at most 30000 jobs deep' using errcode = 'PL001';
    end if;
    insert into plait.fan_outs (
      id, tenant_id, parent_id, root_id, created_at, depth, total, needed, waited_for, early,
      streamed, nested, cancel_remaining, cancel_on_parent_failure, strategy, succeeded, failed,
      canceled)
    select plait.uuidv7(), r.tenant_id, r.id, r.id, p_now,
           v_depth, v_total, case when r.policy = 'cancel' then v_total else 0 end, v_total, false,
           false, true, false, false, 'after',
           count(*) filter (where a.final in ('succeeded', 'skipped')),
           count(*) filter (where a.final in ('failed', 'dead_letter')),
           count(*) filter (where a.final = 'canceled')
    from (select (select t.final
                  from plait.attempts t
                  where t.job_id = u and not exists (select from plait.live l where l.job_id = u)
                  order by t.attempt desc limit 1) as final
          from unnest(r.after) u) a
    returning * into f;
    update plait.live set tied = true where job_id = any(r.after) and not tied;
    insert into plait.dependencies (on_id, fan_out_id, tenant_id)
    select l.job_id, f.id, r.tenant_id from plait.live l where l.job_id = any(r.after);
    update plait.live set wait_on = 'fan_out ' || f.id where job_id = r.id;
    perform plait._apply_strategy(f, p_now);
  end loop;
end $$;
