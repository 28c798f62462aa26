-- _follow: a job has succeeded: what was to follow it is enqueued, in the same transaction.
--
--   moves    nothing -> queued | scheduled
--   locks    the tenant's row where it has a quota; dedupe keys, sorted
--   raises   nothing of its own: what follows was checked when it was asked for, and a quota does not stop it
--   called   _end
create or replace function plait._follow(p_live plait.live) returns void
language plpgsql as $$
declare
  v_now    timestamptz;
  v_queues text[];
  v_jobs   uuid[];
  v_definitions text[];
  v_keyed  uuid[] := '{}';
  u        plait.follow_ups;
begin
  if not exists (select from plait.follow_ups where job_id = p_live.job_id) then
    return;
  end if;
  update plait.tenants set quota_left = null where id = p_live.tenant_id and max_queued is not null;  -- count them anew
  -- An id that somebody has used meanwhile is no reason to fail.
  delete from plait.follow_ups f where f.job_id = p_live.job_id and exists (select from plait.jobs j where j.id = f.id);
  for u in select * from plait.follow_ups where job_id = p_live.job_id and dedupe_key is not null order by dedupe_key, id loop
    insert into plait.dedupe (tenant_id, key, job_id) values (u.tenant_id, u.dedupe_key, u.id) on conflict do nothing;
    if not found then
      v_keyed := v_keyed || u.id;  -- another job stands for it
    end if;
  end loop;
  v_now := plait._moment();
  with gone as (
    delete from plait.follow_ups where job_id = p_live.job_id returning *
  ), c as (
    insert into plait.jobs (id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition, queue, source,
                            correlation_id, dedupe_key, limit_key, payload)
    select g.id, g.tenant_id, v_now, v_now + make_interval(secs => g.delay_s), g.timeout_s, g.priority, g.max_attempts, g.definition, g.queue,
           'system', (select j.correlation_id from plait.jobs j where j.id = p_live.job_id), g.dedupe_key, g.limit_key, g.payload
    from gone g where not g.id = any(v_keyed)
    on conflict do nothing
    returning *
  ), l as (
    insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition, dedupe_key, limit_key, tied)
    select c.id, c.tenant_id, case when c.scheduled_for > v_now then c.scheduled_for else v_now end, c.priority, c.max_attempts,
           case when c.scheduled_for > v_now then 'scheduled' else 'queued' end::plait.status,
           exists (select from plait.tenants t where t.id = c.tenant_id and t.max_queued is not null), c.queue,
           plait._lane(c.definition, c.tenant_id, c.limit_key), c.definition, c.dedupe_key, c.limit_key,
           exists (select from plait.definitions d where d.name = c.definition and d.kind = 'node')
    from c returning queue, job_id, definition
  )
  select array_agg(distinct queue), array_agg(job_id), array_agg(definition) into v_queues, v_jobs, v_definitions from l;
  if v_queues is not null then
    perform plait._make_searchable(v_jobs, v_definitions);
    perform plait._wake(v_queues);
  end if;
end $$;
