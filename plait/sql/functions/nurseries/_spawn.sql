-- _spawn: add children to an open nursery.
--
--   moves    nothing -> queued | scheduled; -> waiting, in a serial nursery, until it is their turn
--   locks    the parent's live row, so that the parent does not end before this commits; the
--            nursery's row, so that the nursery is not decided meanwhile; the tenant's row if it
--            has a quota; dedupe keys
--   raises   PL001 invalid argument, PL002 invalid id, PL005 quota exceeded, PL007 inactive
--            definition, PL008 no such nursery, PL009 if the parent is final, the nursery is closed
--            or nesting is not allowed, PL016 if another open transaction holds a key or the quota
--   called   spawn, spawn_many
--
-- Returns the ids of the children, in order. If an older job holds a child's dedupe key, that job's
-- id is returned instead.
create or replace function plait._spawn(
  p_parent plait.jobs, p_nursery uuid, p_ids uuid[], p_definitions text[], p_payloads text[],
  p_queues text[], p_priorities int[], p_max_attempts int[], p_timeouts_s float8[],
  p_delays_s float8[], p_dedupe_keys text[], p_limit_keys text[],
  p_in_transaction boolean default false
) returns uuid[]
language plpgsql set enable_seqscan = off as $$
declare
  v_now      timestamptz;
  f          plait.fan_outs;
  v_payloads json[];
  v_ids      uuid[] := p_ids;
  v_answer   uuid[] := p_ids;
  v_metered  boolean;
  v_stopped  boolean;
  v_free     boolean;
  v_queues   text[];
  v_gone     boolean;
  r          record;
begin
  v_payloads := plait._check_jobs(
    p_now => plait.now(), p_ids => p_ids, p_definitions => p_definitions, p_payloads => p_payloads,
    p_queues => p_queues, p_priorities => p_priorities, p_max_attempts => p_max_attempts,
    p_delays_s => p_delays_s, p_timeouts_s => p_timeouts_s, p_dedupe_keys => p_dedupe_keys,
    p_limit_keys => p_limit_keys);
  p_definitions := plait._repeat_single(p_definitions, cardinality(p_ids));
  perform plait._require_active(p_definitions);
  if exists (select from plait.fan_outs o where o.id = p_parent.fan_out_id and not o.nested) then
    raise exception 'job % may not have children: its parent does not allow nested children',
      p_parent.id using errcode = 'PL009';
  end if;
  if coalesce(p_parent.depth, 0) >= 1000 then
    raise exception 'a workflow must be at most 1000 levels deep' using errcode = 'PL001';
  end if;

  -- an update, not just a lock, so that a settle that waits for the row rereads it
  if p_in_transaction then
    update plait.live set tied = true where job_id = p_parent.id;
  else
    perform from plait.live where job_id = p_parent.id for key share;
  end if;
  v_gone := not found;
  select * into f
  from plait.fan_outs
  where id = p_nursery and parent_id = p_parent.id for no key update;
  if not found then
    raise exception 'job % has no nursery %', p_parent.id, p_nursery using errcode = 'PL008';
  end if;
  if f.strategy <> 'nursery' then
    raise exception 'job % waits for a fan-out, which accepts no more children: its children cannot spawn siblings',
      p_parent.id using errcode = 'PL009';
  end if;
  if v_gone or f.decided_at is not null
     or exists (select from plait.fan_outs o
                where o.id = p_parent.id and o.parent_final is not null) then
    raise exception 'job % is final, or its nursery is closed: it accepts no more children',
      p_parent.id using errcode = 'PL009';
  end if;
  v_metered := exists (
    select from plait.tenants t where t.id = p_parent.tenant_id and t.max_queued is not null);
  if v_metered then
    perform plait._reserve_quota(p_parent.tenant_id, cardinality(p_ids));
  end if;
  if p_dedupe_keys is not null then
    for r in select k.requested, k.existing from plait._insert_keys(
      p_now => plait.now(), p_tenant => p_parent.tenant_id, p_ids => p_ids, p_tenants => null,
      p_definitions => p_definitions, p_payloads => p_payloads, p_dedupe_keys => p_dedupe_keys,
      p_idempotency_keys => null, p_idempotency_ttls_s => null, p_wait_ms => 5000) k loop
      v_ids := array_remove(v_ids, r.requested);
      v_answer := array_replace(v_answer, r.requested, r.existing);
    end loop;
    if cardinality(v_ids) = 0 then
      return v_answer;
    end if;
  end if;

  v_now := plait._now_after_xid();
  v_stopped := f.stop and f.failed + f.canceled > 0;
  v_free := not v_stopped and f.turn is null and f.succeeded + f.failed + f.canceled = f.total;
  begin
    select i.o_queues into v_queues from plait._insert_jobs(
      p_now => v_now, p_ids => p_ids, p_definitions => p_definitions, p_payloads => v_payloads,
      p_source => 'system', p_tenant => p_parent.tenant_id, p_queues => p_queues,
      p_priorities => p_priorities, p_max_attempts => p_max_attempts, p_delays_s => p_delays_s,
      p_timeouts_s => p_timeouts_s, p_dedupe_keys => p_dedupe_keys, p_limit_keys => p_limit_keys,
      p_correlation_id => p_parent.correlation_id,
      p_only => case when cardinality(v_ids) < cardinality(p_ids) then v_ids end,
      p_metered => v_metered, p_fan_out => f,
      p_indexes => array(
        select f.total - 1 + (count(*) filter (
                 where cardinality(v_ids) = cardinality(p_ids) or u.id = any(v_ids))
               over (order by u.n))::int
        from unnest(p_ids) with ordinality u(id, n) order by u.n),
      p_turn_from => case when v_stopped then f.total
                          when f.serial then f.total + v_free::int end,
      p_parent_attempts => p_parent.max_attempts) i;
  exception when unique_violation then
    raise exception 'a job id must be a new UUIDv7 that was generated within a day of now'
      using errcode = 'PL002';
  end;
  perform plait._store_search_values(v_ids, p_definitions);
  perform plait._set_deadlines(v_ids, p_definitions);
  update plait.fan_outs set
    total = total + cardinality(v_ids), cancel_due = cancel_due or v_stopped,
    turn = case when serial and v_free then v_ids[1] else turn end
  where id = f.id;
  if v_metered then
    perform plait._reserve_quota(p_parent.tenant_id, cardinality(v_ids), true);
  end if;
  if v_queues is not null then
    perform plait._wake_workers(v_queues, p_in_transaction);
  end if;
  return v_answer;
end $$;
