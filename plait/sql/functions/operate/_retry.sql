-- _retry: make a final job live again. The log records the retry as an attempt that never ran.
--
--   moves    failed | dead_letter | canceled | skipped -> queued | scheduled; -> waiting, for its
--            turn in a serial nursery, or for a dependency that runs again
--   locks    the caller holds the job's row; live rows of jobs that it depends on; the tenant's row
--            if it has a quota; its dedupe key
--   raises   PL005 quota exceeded, PL009 when it is not final or has succeeded, PL013 when another
--            job holds its dedupe key
--   called   retry, retry_tree
--
-- All its attempts are available again. With p_drop_steps, or if its handler has received a
-- cancellation, its steps are dropped. Otherwise they are kept, except a last step that failed: a
-- replay would only raise its stored error again.
create or replace function plait._retry(
  p_job plait.jobs, p_now timestamptz, p_run_at timestamptz, p_max_attempts int,
  p_drop_steps boolean
) returns plait.status
language plpgsql as $$
declare
  v_attempt int;
  v_final   plait.status;
  v_turn    boolean := exists (
    select from plait.fan_outs f where f.id = p_job.fan_out_id and f.serial);
  v_state   plait.status;
  v_await   uuid[];   -- dependencies of this job that are live again
  v_after   uuid;
  v_metered boolean;
  s         plait.steps;
begin
  -- After a cancellation, the handler may have undone earlier steps, so all steps run again.
  p_drop_steps := p_drop_steps
    or exists (select from plait.steps c where c.job_id = p_job.id and c.kind = 'cancel');
  select attempt, final into v_attempt, v_final
  from plait.attempts
  where job_id = p_job.id
  order by attempt desc limit 1;
  if v_final is null or v_final = 'succeeded'
     or exists (select from plait.live where job_id = p_job.id) then
    raise exception 'a % job cannot be retried',
      coalesce((select state from plait.live where job_id = p_job.id), v_final, 'queued')
      using errcode = 'PL009';
  end if;
  -- Children of a nursery that did not succeed can only be retried with the whole workflow.
  if exists (select from plait.fan_outs f
             where f.parent_id = p_job.id and f.strategy = 'nursery' and f.failed + f.canceled > 0
               and (
                 f.id = p_job.id
                 or not p_drop_steps
                    and (f.decided_at is null or f.id = plait._last_failed_fan_out(p_job.id)))) then
    raise exception 'children of job % did not succeed: retry the whole workflow', p_job.id
      using errcode = 'PL009', detail = 'its root is job ' || coalesce(p_job.root_id, p_job.id);
  end if;
  if p_drop_steps and plait._has_open_children(p_job.id) then
    raise exception 'children of job % are not final: cancel the workflow first, or retry without dropping the steps',
      p_job.id using errcode = 'PL009';
  end if;
  v_await := array(select l.job_id
                   from plait.live l
                   where l.job_id = any(p_job.after)
                   order by l.job_id for no key update);
  if cardinality(v_await) > 0 then
    -- The job waits for the dependencies that run again. Dependencies that have failed are ignored,
    -- because the operator chose to retry this job.
    update plait.fan_outs set
      succeeded = total - cardinality(v_await), failed = 0, canceled = 0, decided_at = null,
      decision = null, decided_ended = null, left_open = null, waited_for = total
    where parent_id = p_job.id and strategy = 'after'
    returning id into v_after;
    insert into plait.dependencies (on_id, fan_out_id, tenant_id)
    select a, v_after, p_job.tenant_id
    from unnest(v_await) a
    on conflict do nothing;  -- the row exists if this job was canceled before its dependency ended
    update plait.live set tied = true where job_id = any(v_await) and not tied;
  end if;
  v_state := case when v_turn or v_after is not null then 'waiting'
                  when p_run_at > p_now then 'scheduled'
                  else 'queued' end;
  update plait.fan_outs set
    decided_at = null, decision = null, decided_ended = null, waited_for = null, cancel_due = false,
    parent_final = null
  where id = p_job.id;
  update plait.fan_outs set cancel_due = false
  where parent_id = p_job.id and strategy = 'nursery' and cancel_due;
  v_metered := exists (
    select from plait.tenants where id = p_job.tenant_id and max_queued is not null);
  if v_metered then
    perform plait._reserve_quota(p_job.tenant_id, 1);
  end if;
  if p_job.dedupe_key is not null then
    insert into plait.dedupe (tenant_id, key, job_id)
    values (p_job.tenant_id, p_job.dedupe_key, p_job.id)
    on conflict do nothing;
    if not found then
      raise exception 'another job holds the dedupe key %', quote_literal(p_job.dedupe_key)
        using errcode = 'PL013';
    end if;
  end if;
  insert into plait.live (
    job_id, tenant_id, run_at, attempt, priority, max_attempts, state, metered, queue, lane,
    definition, dedupe_key, limit_key, root_id, fan_out_id, wait_on, tied)
  values (p_job.id, p_job.tenant_id,
          case when v_state <> 'queued' and p_run_at > p_now then p_run_at
               else plait._now_after_xid() end,
          v_attempt + 1, p_job.priority, coalesce(p_max_attempts, p_job.max_attempts), v_state,
          v_metered, p_job.queue,
          plait._lane(
            p_job.definition, p_job.tenant_id, p_job.limit_key, coalesce('n:' || p_job.node, '')),
          p_job.definition, p_job.dedupe_key, p_job.limit_key, p_job.root_id, p_job.fan_out_id,
          case when v_turn then 'turn' else 'fan_out ' || v_after end,
          exists (select from plait.fan_outs f where f.id = p_job.id)
            or exists (select from plait.dependencies d where d.on_id = p_job.id)
            or exists (select from plait.definitions d
                       where d.name = p_job.definition and d.kind = 'node'));
  if v_metered then
    perform plait._reserve_quota(p_job.tenant_id, 1, true);
  end if;
  perform plait._set_deadlines(array[p_job.id], array[p_job.definition], p_again => true);
  insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason)
  values (p_job.id, p_job.tenant_id, p_now, v_attempt + 1, 'released', 'retried');
  if v_final in ('failed', 'dead_letter') then
    insert into plait.failure_changes (tenant_id, job_id) values (p_job.tenant_id, p_job.id);
  end if;

  delete from plait.event_waits where job_id = p_job.id;  -- its handler registers again
  if p_drop_steps then
    delete from plait.steps where job_id = p_job.id;
    delete from plait.stream_items where job_id = p_job.id;
    -- last_seq is kept, so a follower receives the new items after the old ones
    update plait.streams set items = 0, bytes = 0, closed = false where job_id = p_job.id;
    delete from plait.follow_ups where job_id = p_job.id;  -- the new run requests them again
    -- The outcomes of these nurseries will never be read.
    update plait.fan_outs set decided_at = p_now, decision = 'failed', decided_ended = total
      where parent_id = p_job.id and strategy = 'nursery' and decided_at is null and id <> p_job.id;
    update plait.fan_outs set cancel_due = true
    where parent_id = p_job.id and not cancel_due and succeeded + failed + canceled < total
      and strategy not in ('nursery', 'after');
  else
    select * into s
    from plait.steps
    where job_id = p_job.id
    order by finished desc nulls last, seq desc limit 1;
    if s.error is not null
       or exists (select from plait.fan_outs f
                  where f.id = s.fan_out_id and f.decision <> 'succeeded') then
      delete from plait.steps
      where job_id = p_job.id and (seq = s.seq or fan_out_id = s.fan_out_id);
    end if;
  end if;
  if v_state = 'queued' then
    perform plait._wake_workers(array[p_job.queue], true);
  end if;
  return v_state;
end $$;
