-- list_queues: every queue that has jobs, settings or workers.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.queues.list_queues, users
--
--   p_tenant   count only jobs of this tenant. Default: all
--
--   select name, paused, queued, running from plait.list_queues();
--
-- workers: those whose lease has not expired.
create or replace function plait.list_queues(p_tenant uuid default null)
returns table (name text, paused boolean, queued bigint, scheduled bigint, running bigint,
               waiting bigint, oldest_s float8, workers bigint, max_running int, rate_count int,
               rate_period_s float8, mode text, root_id uuid, paused_at timestamptz, paused_by text,
               pause_reason text)
language sql volatile security definer set search_path = plait, pg_temp as $$
  with l as (
    select queue, sum(jobs) filter (where state = 'queued')::bigint as queued,
           sum(jobs) filter (where state = 'scheduled')::bigint as scheduled,
           sum(jobs) filter (where state = 'running')::bigint as running,
           sum(jobs) filter (where state = 'waiting')::bigint as waiting,
           min(oldest) filter (where state = 'queued') as oldest
    from plait._live_counts(p_tenant)
    group by queue
  ), w as (
    select q as queue, count(*) filter (where expires_at > plait.now()) as workers
    from plait.workers, unnest(queues) q
    where state = 'alive'
    group by q
  ), n as (
    select name from plait.queues union select queue from l union select queue from w
  )
  select n.name, coalesce(s.paused, false), coalesce(l.queued, 0), coalesce(l.scheduled, 0),
         coalesce(l.running, 0), coalesce(l.waiting, 0),
         case when l.oldest is not null then
                greatest(0, extract(epoch from plait.now() - l.oldest))::float8 end,
         coalesce(w.workers, 0), s.max_running, s.rate_count, s.rate_period_s,
         case when s.serial then 'serial' else 'parallel' end,
         (select j.id
          from plait.jobs j
          where j.id = h.root and (p_tenant is null or j.tenant_id = p_tenant)),
         s.paused_at, s.paused_by, s.pause_reason
  from n
  left join l on l.queue = n.name
  left join w on w.queue = n.name
  left join plait.queues s on s.name = n.name
  -- Call the function once for each queue. In the condition above, a volatile function would be
  -- called for every job.
  left join (select q.name, plait._serial_holder(q.name) as root
             from plait.queues q
             where q.serial offset 0) h
    on h.name = n.name
  order by n.name
$$;
