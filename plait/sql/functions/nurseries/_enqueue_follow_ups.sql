-- _enqueue_follow_ups: enqueue a job's follow-ups in the transaction in which it succeeds.
--
--   moves    nothing -> queued | scheduled
--   locks    the tenant's row SKIP LOCKED, if it has a quota; dedupe keys, sorted, each for at most
--            20 ms
--   raises   nothing: follow-ups were validated when they were requested, and a quota does not stop
--            them
--   called   _enqueue_late_follow_ups, _make_final
--
-- Nothing here waits more than 20 ms for a user's transaction. If a transaction holds the quota,
-- follow-ups do not count toward the quota. If an open transaction has enqueued a job with the same
-- dedupe key, it is not known whether that job will exist. The follow-up is then marked late, and
-- _enqueue_late_follow_ups enqueues it later.
create or replace function plait._enqueue_follow_ups(p_job uuid, p_tenant uuid) returns void
language plpgsql as $$
declare
  v_now    timestamptz;
  v_queues text[];
  v_keyed  uuid[] := '{}';
  v_late   uuid[] := '{}';
  v_metered boolean;
  v_lock_timeout text := current_setting('lock_timeout');
  u        plait.follow_ups;
  r        record;
begin
  if not exists (select from plait.follow_ups where job_id = p_job) then
    return;
  end if;
  perform from plait.tenants
  where id = p_tenant and max_queued is not null for no key update skip locked;
  v_metered := found;
  if v_metered then
    update plait.tenants set quota_left = null where id = p_tenant;  -- forces a new count
  end if;
  -- An id that was used meanwhile is not an error.
  delete from plait.follow_ups f
  where f.job_id = p_job and exists (select from plait.jobs j where j.id = f.id);
  for u in
    select *
    from plait.follow_ups
    where job_id = p_job and dedupe_key is not null
    order by dedupe_key, id
  loop
    begin
      perform set_config('lock_timeout', '20ms', true);
      insert into plait.dedupe (tenant_id, key, job_id)
      values (u.tenant_id, u.dedupe_key, u.id)
      on conflict do nothing;
      if not found then
        v_keyed := v_keyed || u.id;  -- another job has its dedupe key
      end if;
    exception when lock_not_available then
      v_late := v_late || u.id;
    end;
  end loop;
  perform set_config('lock_timeout', v_lock_timeout, true);
  if cardinality(v_late) > 0 then
    update plait.follow_ups set late = true where job_id = p_job and id = any(v_late) and not late;
  end if;
  v_now := plait._now_after_xid();
  loop
    begin
      with gone as (
        delete from plait.follow_ups where job_id = p_job and id <> all(v_late) returning *
      )
      select array_agg(g.id) as ids, array_agg(g.definition) as definitions,
             array_agg(g.payload) as payloads, array_agg(g.queue) as queues,
             array_agg(g.priority::int) as priorities,
             array_agg(g.max_attempts::int) as max_attempts,
             array_agg(g.delay_s) as delays_s, array_agg(g.timeout_s) as timeouts_s,
             array_agg(g.dedupe_key) as dedupe_keys, array_agg(g.limit_key) as limit_keys
        into r from gone g where g.id <> all(v_keyed);
      if r.ids is not null then
        select i.o_queues into v_queues from plait._insert_jobs(
          p_now => v_now, p_ids => r.ids, p_definitions => r.definitions,
          p_payloads => r.payloads, p_source => 'system', p_tenant => p_tenant,
          p_queues => r.queues, p_priorities => r.priorities, p_max_attempts => r.max_attempts,
          p_delays_s => r.delays_s, p_timeouts_s => r.timeouts_s, p_dedupe_keys => r.dedupe_keys,
          p_limit_keys => r.limit_keys, p_metered => v_metered,
          p_correlation_id => (select j.correlation_id from plait.jobs j where j.id = p_job)) i;
      end if;
      exit;
    exception when unique_violation then  -- an id was used after the check above
      delete from plait.follow_ups f
        where f.job_id = p_job and exists (select from plait.jobs j where j.id = f.id);
      if not found then
        raise;
      end if;
    end;
  end loop;
  if r.ids is not null then
    perform plait._store_search_values(r.ids, r.definitions);
    perform plait._set_deadlines(r.ids, r.definitions);
    perform plait._wake_workers(v_queues);
  end if;
end $$;
