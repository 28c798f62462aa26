-- _announce: create the missing webhook deliveries for a time range; returns how many.
--
--   moves    nothing -> queued
--   locks    the caller holds the lock of announce
--   raises   nothing
--   called   announce
--
-- Outcomes of deliveries are not announced, because each announcement would cause another one.
create or replace function plait._announce(p_from timestamptz, p_to timestamptz, p_limit int)
returns int language plpgsql set enable_seqscan = off as $$
declare
  v_now  timestamptz := plait._now_after_xid();
  v_told int := 0;
  d      plait.definitions;
  r      record;
begin
  select * into d from plait.definitions where name = 'connector.webhook.deliver';
  for r in
    with due as (
      select e.tenant_id, e.id as endpoint_id, a.job_id, a.attempt, a.finished_at, a.final,
             a.reason, left(a.error, 2000) as error, j.definition, j.queue, j.correlation_id,
             j.created_at, plait.uuidv7() as delivery_id
      from plait.attempts a
      join plait.endpoints e
        on e.tenant_id = a.tenant_id and e.subscribed_at <= a.finished_at
          and a.final = any(e.statuses)
      join plait.jobs j
        on j.id = a.job_id and (e.definitions is null or j.definition = any(e.definitions))
      where a.finished_at >= p_from and a.finished_at < p_to
        and j.definition <> 'connector.webhook.deliver'
        -- `offset 0` forces one index lookup per outcome. A join, planned as if the table were
        -- empty, would read all rows of the endpoint each time.
        and not exists (select from plait.announcements n
                        where n.tenant_id = e.tenant_id and n.endpoint_id = e.id
                          and n.job_id = a.job_id and n.attempt = a.attempt
                        offset 0)
      limit p_limit
    ), told as (
      insert into plait.announcements (
        tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id)
      select tenant_id, endpoint_id, job_id, attempt, finished_at, delivery_id
      from due
      returning delivery_id
    )
    select u.tenant_id, array_agg(u.delivery_id order by u.delivery_id) as ids,
           array_agg(u.job_id::text order by u.delivery_id) as jobs,
           array_agg(u.correlation_id order by u.delivery_id) as correlations,
           array_agg(
             json_build_object(
               'endpoint', u.endpoint_id, 'type', 'job.' || u.final, 'timestamp', u.finished_at,
               'data',
                 json_build_object(
                   'job_id', u.job_id, 'definition', u.definition, 'queue', u.queue,
                   'status', u.final, 'attempt', u.attempt, 'reason', u.reason, 'error', u.error,
                   'correlation_id', u.correlation_id, 'created_at', u.created_at,
                   'finished_at', u.finished_at))
             order by u.delivery_id) as payloads
    from due u
    join told t using (delivery_id)
    group by u.tenant_id
  loop
    perform plait._enqueue_plain(
      p_now => v_now, p_ids => r.ids, p_payloads => r.payloads, p_tenant => r.tenant_id,
      p_definition => 'connector.webhook.deliver', p_queue => coalesce(d.queue, 'default'),
      p_priority => coalesce(d.priority, 100), p_max_attempts => coalesce(d.max_attempts, 5),
      p_source => 'system',
      p_lane => plait._lane('connector.webhook.deliver', r.tenant_id, null));
    update plait.jobs j set source_ref = u.job, correlation_id = u.correlation
      from unnest(r.ids, r.jobs, r.correlations) u(id, job, correlation) where j.id = u.id;
    v_told := v_told + cardinality(r.ids);
  end loop;
  if v_told > 0 then
    perform plait._wake_workers(array[coalesce(d.queue, 'default')], false);
  end if;
  return v_told;
end $$;
