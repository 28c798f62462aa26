-- retry_tree: run the failed jobs of a workflow again, from the root down. Results are kept.
--
--   moves    failed | dead_letter | canceled -> queued
--   locks    the root's row and those of failed jobs; all fan-outs of the workflow, deepest first;
--            then the same as _retry
--   raises   PL001 bad argument, PL005 quota exceeded, PL008 no such job, PL009 when the job is not
--            a root, is not final or has succeeded
--   called   plait.store.jobs.retry_tree, users
--
--   p_job   id of the root
--
--   select plait.retry_tree(:'failed_job');
--
-- Returns how many jobs run again. If a job's last step is a failed fan-out or nursery, that is
-- reopened. The job's own nursery and nurseries that an error interrupted are reopened too.
-- Children that did not succeed run again; the results of the others are kept. Streamed fan-outs
-- start from scratch, because the handler has read the order in which their children ended.
create or replace function plait.retry_tree(p_job uuid, p_tenant uuid default null) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now    timestamptz := plait._now_after_xid();
  v_tenant uuid := plait._tenant(p_tenant);
  v_front  uuid[] := array[p_job];
  v_next   uuid[];
  v_n      int := 0;
  v_last   uuid;
  v_serial uuid[];
  j        plait.jobs;
  f        plait.fan_outs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if j.root_id is not null then
    raise exception 'job % is not the root of its workflow: retry the root, job %', p_job, j.root_id
      using errcode = 'PL009';
  end if;
  perform from plait.fan_outs where root_id = p_job order by depth desc, id for no key update;
  while v_front is not null loop
    v_next := null;
    for j in select * from plait.jobs where id = any(v_front) order by id for no key update loop
      v_last := plait._last_failed_fan_out(j.id);
      for f in
        update plait.fan_outs o set
          failed = 0, canceled = 0, decided_at = null, decision = null, rule = null,
          decided_ended = null, left_open = null, cancel_due = false, waited_for = null,
          timeout_at = v_now + make_interval(secs => timeout_s),
          turn = case when o.serial then
                        (select l.job_id
                         from plait.live l
                         where l.root_id = o.root_id and l.fan_out_id = o.id
                           and l.wait_on is distinct from 'turn'
                         limit 1) end
        where o.parent_id = j.id and not o.streamed
          and (o.id = v_last
               or o.strategy = 'nursery' and o.failed + o.canceled > 0
                  and (o.id = j.id or o.decided_at is null))
        returning *
      loop
        update plait.steps set done = false, finished = null
        where job_id = j.id and fan_out_id = f.id and kind = 'fan_out';
        delete from plait.steps where job_id = j.id and fan_out_id = f.id and kind = 'join';
        v_next := v_next || plait._unsuccessful_children(f);
        if f.serial and f.turn is null then  -- otherwise a child still runs
          v_serial := v_serial || f.id;
        end if;
      end loop;
      perform plait._retry(j, v_now, null, null, false);
      v_n := v_n + 1;
    end loop;
    v_front := nullif(v_next, '{}');
  end loop;
  for f in select * from plait.fan_outs where id = any(v_serial) order by id loop
    perform plait._start_next_serial_child(f);
  end loop;
  return v_n;
end $$;
