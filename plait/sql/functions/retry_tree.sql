-- retry_tree: an operator runs again what has failed in a tree: its root, and below it what made it fail. What succeeded stays.
--
--   moves    failed | dead_letter | canceled -> queued
--   locks    the root's row and the failed ones'; all fan-outs of the tree, deepest first; then as _reopen
--   raises   PL001 bad argument, PL005 quota, PL008 no such job, PL009 when the root is not final or has succeeded, or is no root
--   called   plait.store.jobs.retry_tree
--
-- From the root down: where a job's last step is a fan-out that failed, that fan-out is open again, and of its children those run
-- again that had not succeeded; the others' results stand. Streams are made anew: their order was read. Returns how many jobs run.
create or replace function plait.retry_tree(p_job uuid, p_tenant uuid default null) returns int
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now    timestamptz := plait._moment();
  v_tenant uuid := plait._tenant(p_tenant);
  v_front  uuid[] := array[p_job];
  v_next   uuid[];
  v_n      int := 0;
  v_again  uuid[];
  j        plait.jobs;
  f        plait.fan_outs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where id = p_job and tenant_id = v_tenant for no key update;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if j.root_id is not null then
    raise exception 'job % is not the root of its tree: retry %', p_job, j.root_id using errcode = 'PL009';
  end if;
  perform from plait.fan_outs where root_id = p_job order by depth desc, id for no key update;
  while v_front is not null loop
    v_next := null;
    for j in select * from plait.jobs where id = any(v_front) order by id for no key update loop
      select o.* into f from (select s.fan_out_id, s.kind from plait.steps s where s.job_id = j.id order by s.seq desc limit 1) s
        join plait.fan_outs o on o.id = s.fan_out_id where s.kind = 'fan_out' and o.decision <> 'succeeded';
      if found then
        v_again := plait._unsuccessful(f);
        update plait.fan_outs set failed = 0, canceled = 0, decided_at = null, decision = null, rule = null, decided_ended = null, left_open = null,
          cancel_due = false, waited_for = null, timeout_at = v_now + make_interval(secs => timeout_s) where id = f.id;
        v_next := v_next || v_again;
      end if;
      -- The children that it spawned: those that did not succeed run again. One after the other where they are serial: see _reopen.
      update plait.fan_outs set failed = 0, canceled = 0, decided_at = null, decision = null, decided_ended = null, waited_for = null,
        cancel_due = false, turn = null where id = j.id and failed + canceled > 0 returning * into f;
      if found then
        v_next := v_next || plait._unsuccessful(f);
      end if;
      perform plait._reopen(j, v_now, null, null, false);
      v_n := v_n + 1;
    end loop;
    v_front := v_next;
  end loop;
  return v_n;
end $$;
