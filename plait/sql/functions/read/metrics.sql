-- metrics: metrics of the whole installation, for monitoring. Never counts the history (T113).
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.metrics.read
--
-- A row is (metric, two labels, value). Live jobs come from _live_counts, outcomes from the
-- leader's counts for each minute; neither adds work to a job. The p_top tenants and queues with
-- the most jobs have their own rows; all others share the row '*', so that the number of series
-- stays bounded (T97). The metric `minutes` has the counts since p_since, and `closed` has the
-- counts since `closed_to`. Minutes before `closed_to` are final, so a caller that continues from
-- there misses nothing and counts nothing twice.
create or replace function plait.metrics(p_since timestamptz default null, p_top int default 50)
returns table (metric text, label text, status text, value float8)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_now    timestamptz := plait.now();
  v_closed timestamptz := coalesce(
    (select closed_to from plait.rolled), date_trunc('minute', v_now));
begin
  return query
    with l as materialized (
      select d.tenant_id, d.queue, d.state, d.jobs, d.oldest from plait._live_counts(null) d
    ), t as (
      select x.tenant_id,
             case when row_number() over (order by x.jobs desc, x.tenant_id) <= p_top then
                    n.slug::text
                  else '*' end as label
      from (select l.tenant_id, sum(l.jobs) as jobs from l group by 1) x
      join plait.tenants n on n.id = x.tenant_id
    ), q as (
      select x.queue,
             case when row_number() over (order by x.jobs desc, x.queue) <= p_top then x.queue
                  else '*' end as label
      from (select l.queue, sum(l.jobs) as jobs from l group by 1) x
    )
    select 'jobs', t.label, l.state::text, sum(l.jobs)::float8
    from l
    join t using (tenant_id)
    group by 2, 3
    union all
    select 'queue_jobs', q.label, l.state::text, sum(l.jobs)::float8
    from l
    join q using (queue)
    group by 2, 3
    union all
    select 'queue_oldest', q.label, '',
           greatest(0, extract(epoch from v_now - min(l.oldest)))::float8
    from l
    join q using (queue)
    where l.state = 'queued'
    group by 2;
  return query
    select m.metric, x.label, '', x.value
    from (select case when s.n = 1 then 'minutes' else 'closed' end as metric, s.since
          from unnest(array[coalesce(p_since, v_closed), v_closed]) with ordinality s(since, n)) m
    cross join lateral (
      select sum(n.enqueued)::float8 as enqueued, sum(n.succeeded)::float8 as succeeded,
             sum(n.failed)::float8 as failed, sum(n.dead_letter)::float8 as dead_letter,
             sum(n.canceled)::float8 as canceled, sum(n.skipped)::float8 as skipped,
             sum(n.retried)::float8 as retried, sum(n.lost)::float8 as lost,
             sum(n.run_s)::float8 as run_s
      from plait.minutes n
      where n.minute >= m.since) s
    cross join lateral (
      values ('enqueued', s.enqueued), ('succeeded', s.succeeded), ('failed', s.failed),
             ('dead_letter', s.dead_letter), ('canceled', s.canceled), ('skipped', s.skipped),
             ('retried', s.retried), ('lost', s.lost), ('run_s', s.run_s)) x(label, value)
    where x.value is not null;
  return query
    select 'closed_to', '', '', extract(epoch from v_closed)::float8
    union all
    select 'counted', '', '', greatest(0, extract(epoch from v_now - r.seen_at))::float8
    from plait.rolled r
    union all
    select 'workers',
           case when w.state = 'lost' then 'lost'
                when w.seen_at < v_now - make_interval(secs => w.lease_s / 2)
                     or w.expires_at <= v_now then 'stale'
                when w.blocked_since is not null then 'blocked'
                else 'alive' end,
           '', count(*)::float8
    from plait.workers w
    where w.state = 'alive' or w.state = 'lost' and w.ended_at > v_now - interval '1 hour'
    group by 2
    union all
    select 'prefetched', '', '', coalesce(sum(w.prefetched), 0)::float8
    from plait.workers w
    where w.state = 'alive' and w.expires_at > v_now
    union all
    select 'leader_term', '', '', max(e.term)::float8
    from plait.leader e
    where e.name = 'main'
    having max(e.term) is not null
    union all
    select 'leader_present', '', '', count(*)::float8
    from plait.leader e
    where e.name = 'main' and e.expires_at > v_now
    union all
    select 'notify_queue', '', '', pg_notification_queue_usage()
    union all
    select 'dead_rows', '', '', s.n_dead_tup::float8
    from pg_stat_user_tables s
    where s.relid = 'plait.live'::regclass
    union all (select 'oldest_job', '', '',
                      greatest(0, extract(epoch from v_now - j.created_at))::float8
               from plait.jobs j
               order by j.id limit 1);
end $$;
