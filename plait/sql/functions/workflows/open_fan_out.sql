-- open_fan_out: store a fan-out and its children, and suspend the job, in one transaction.
--
--   moves    running -> waiting; nothing -> queued, for each child
--   locks    the parent's live row; the tenant's row if it has a quota
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; PL001 bad argument, PL002 bad id, PL005 quota exceeded, PL007
--            inactive definition, PL009 if the job's own fan-out was opened with nested=False
--   called   plait.store.workflows.open_fan_out
--
-- Returns suspended, opened if the job keeps running (p_suspend is false), stale when the lease is
-- lost, or canceled when the job was asked to stop. The call can be repeated. Children inherit the
-- tenant, root and correlation id. For missing arrays and null elements, the definition's defaults
-- apply. A single element of p_definitions, p_queues, p_priorities or p_max_attempts applies to all
-- children.
create or replace function plait.open_fan_out(
  p_worker int, p_job uuid, p_attempt int,
  p_fan_out uuid, p_name text, p_occurrence int, p_seq int, p_hash text,
  p_strategy text, p_needed int, p_early boolean, p_timeout_s float8,
  p_cancel_remaining boolean, p_cancel_on_parent_failure boolean, p_nested boolean,
  p_streamed boolean, p_ids uuid[], p_definitions text[], p_payloads text[],
  p_queues text[] default null, p_priorities int[] default null, p_max_attempts int[] default null,
  p_timeouts_s float8[] default null, p_limit_keys text[] default null, p_branch text default '',
  p_finished int default null, p_suspend boolean default true, p_cancel_late boolean default false
) returns text
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now      timestamptz := plait._now_after_xid();
  l          plait.live;
  j          plait.jobs;
  v_fan_out  plait.fan_outs;
  v_total    int := cardinality(p_ids);
  v_payloads json[];
  v_metered  boolean;
  v_queues   text[];
begin
  perform plait._require_read_committed();
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  if l.job_id is null then
    return plait._status_without_lease(p_worker, p_job, p_attempt);
  end if;
  if l.cancel_requested is not null then
    return 'canceled';
  end if;
  if l.cancel_by is not null
     and not exists (select from plait.steps s where s.job_id = p_job and s.kind = 'cancel') then
    p_suspend := false;  -- the handler must receive the cancellation first, from await_steps
  end if;
  if exists (select from plait.fan_outs where id = p_fan_out) then
    return 'opened';  -- by an earlier call whose reply was lost
  end if;
  select * into j from plait.jobs where id = p_job;
  if exists (select from plait.fan_outs f where f.id = l.fan_out_id and not f.nested) then
    raise exception 'this job may not fan out: the fan-out that it belongs to was opened with nested=False'
      using errcode = 'PL009';
  end if;
  if coalesce(j.depth, 0) >= 1000 then
    raise exception 'a workflow must be at most 1000 levels deep' using errcode = 'PL001';
  end if;
  if p_timeout_s <= 0 or p_timeout_s > 3.2e9 then
    raise exception 'the timeout of a fan-out must be more than 0 and at most 100 years, got % s',
      p_timeout_s using errcode = 'PL001';
  end if;
  v_payloads := plait._check_jobs(
    p_now => v_now, p_ids => p_ids, p_definitions => p_definitions, p_payloads => p_payloads,
    p_queues => p_queues, p_priorities => p_priorities, p_max_attempts => p_max_attempts,
    p_timeouts_s => p_timeouts_s, p_limit_keys => p_limit_keys);
  perform plait._require_active(p_definitions);
  v_metered := exists (
    select from plait.tenants t where t.id = l.tenant_id and t.max_queued is not null);
  if v_metered then
    perform plait._reserve_quota(l.tenant_id, v_total);
  end if;

  insert into plait.fan_outs (
    id, tenant_id, parent_id, root_id, created_at, timeout_at, timeout_s, depth, total, needed,
    waited_for, early, streamed, nested, cancel_remaining, cancel_on_parent_failure, strategy,
    cancel_late)
  values (
    p_fan_out, l.tenant_id, p_job, coalesce(j.root_id, p_job), v_now,
    v_now + make_interval(secs => p_timeout_s), p_timeout_s, coalesce(j.depth, 0) + 1, v_total,
    p_needed, case when not p_suspend then null when p_streamed then 1 else v_total end, p_early,
    p_streamed, p_nested, p_cancel_remaining, p_cancel_on_parent_failure, p_strategy, p_cancel_late)
  returning * into v_fan_out;
  select i.o_queues into v_queues from plait._insert_jobs(
    p_now => v_now, p_ids => p_ids, p_definitions => p_definitions, p_payloads => v_payloads,
    p_source => 'system', p_tenant => l.tenant_id, p_queues => p_queues,
    p_priorities => p_priorities, p_max_attempts => p_max_attempts, p_timeouts_s => p_timeouts_s,
    p_limit_keys => p_limit_keys, p_correlation_id => j.correlation_id, p_metered => v_metered,
    p_fan_out => v_fan_out, p_parent_attempts => l.max_attempts) i;
  perform plait._store_search_values(p_ids, p_definitions);
  perform plait._set_deadlines(p_ids, p_definitions);
  if v_metered then
    perform plait._reserve_quota(l.tenant_id, v_total, true);
  end if;

  insert into plait.steps (
    job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, name, kind, hash, branch, finished,
    done)
  values (p_job, l.tenant_id, p_fan_out, v_now, p_seq, p_occurrence, p_attempt, p_name,
          case when p_streamed then 'stream' else 'fan_out' end, p_hash, p_branch,
          case when p_streamed then p_finished end, p_streamed);
  if p_suspend then
    perform plait._suspend(l, v_now, 'fan_out ' || p_fan_out, null);
  end if;
  perform plait._wake_workers(v_queues);
  return case when p_suspend then 'suspended' else 'opened' end;
end $$;
