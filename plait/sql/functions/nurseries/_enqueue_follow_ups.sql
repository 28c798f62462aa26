-- _enqueue_follow_ups: a job has succeeded: enqueue its follow-ups, in the same transaction.
--
--   moves    nothing -> queued | scheduled
--   locks    the tenant's row SKIP LOCKED, if it has a quota; dedupe keys, sorted, each for at most
--            20 ms
--   raises   nothing of its own: follow-ups were checked when they were requested, and a quota does
--            not stop them
--   called   _enqueue_late_follow_ups, _make_final
--
-- Nothing here waits for a user's transaction. While one holds the quota, follow-ups do not count
-- toward it. While one has enqueued a job with the same dedupe key and is open, it is not known
-- whether that job will exist: the follow-up is late, and _enqueue_late_follow_ups tries again.
create or replace function plait._enqueue_follow_ups(p_job uuid, p_tenant uuid) returns void
language plpgsql as $$
declare
  v_now    timestamptz;
  v_queues text[];
  v_jobs   uuid[];
  v_definitions text[];
  v_keyed  uuid[] := '{}';
  v_late   uuid[] := '{}';
  v_metered boolean;
  v_lock_timeout text := current_setting('lock_timeout');
  u        plait.follow_ups;
begin
  if not exists (select from plait.follow_ups where job_id = p_job) then
    return;
  end if;
  perform from plait.tenants
  where id = p_tenant and max_queued is not null for no key update skip locked;
  v_metered := found;
  if v_metered then
    update plait.tenants set quota_left = null where id = p_tenant;  -- count again
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
  with gone as (
    delete from plait.follow_ups where job_id = p_job and id <> all(v_late) returning *
  ), c as (
    insert into plait.jobs (
      id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition,
      queue, source, correlation_id, dedupe_key, limit_key, payload)
    select g.id, g.tenant_id, v_now, v_now + make_interval(secs => g.delay_s), g.timeout_s,
           g.priority, g.max_attempts, g.definition, g.queue, 'system',
           (select j.correlation_id from plait.jobs j where j.id = p_job), g.dedupe_key,
           g.limit_key, g.payload
    from gone g
    where not g.id = any(v_keyed)
    on conflict do nothing
    returning *
  ), l as (
    insert into plait.live (
      job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition,
      dedupe_key, limit_key, tied)
    select c.id, c.tenant_id, case when c.scheduled_for > v_now then c.scheduled_for else v_now end,
           c.priority, c.max_attempts,
           case when c.scheduled_for > v_now then 'scheduled' else 'queued' end::plait.status,
           v_metered, c.queue,
           plait._lane(c.definition, c.tenant_id, c.limit_key), c.definition, c.dedupe_key,
           c.limit_key,
           exists (select from plait.definitions d where d.name = c.definition and d.kind = 'node')
    from c
    returning queue, job_id, definition
  )
  select array_agg(distinct queue), array_agg(job_id), array_agg(definition)
  into v_queues, v_jobs, v_definitions
  from l;
  if v_queues is not null then
    perform plait._store_search_values(v_jobs, v_definitions);
    perform plait._set_deadlines(v_jobs, v_definitions);
    perform plait._wake_workers(v_queues);
  end if;
end $$;
