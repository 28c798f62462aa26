-- tenant_load: the load of each tenant: live jobs, recent outcomes, share of the running jobs.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.tenants.tenant_load, users
--
--   p_from   start of the time range for outcomes. Default: an hour ago
--
--   select tenant_id, queued, share, fair_share, noisy from plait.tenant_load();
--
-- failure_rate: the share of attempts since p_from that failed. fair_share: the tenant's weight
-- divided by the weights of all tenants that have queued or running jobs. share: its share of all
-- running jobs. `noisy` lists why other tenants may be affected: slots (it has more than twice its
-- fair share while others wait), backlog (it has more than 1,000 queued jobs and more than all
-- others together), failures (more than half of its attempts fail).
create or replace function plait.tenant_load(p_from timestamptz default null)
returns table (
  tenant_id uuid, scheduled bigint, queued bigint, running bigint, waiting bigint, oldest_s float8,
  ended bigint, failure_rate float8, run_s float8, share float8, fair_share float8, noisy text[])
language sql volatile security definer set search_path = plait, pg_temp as $$
  with live as (
    select c.tenant_id,
           coalesce(sum(c.jobs) filter (where c.state = 'scheduled'), 0)::bigint as scheduled,
           coalesce(sum(c.jobs) filter (where c.state = 'queued'), 0)::bigint as queued,
           coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)::bigint as running,
           coalesce(sum(c.jobs) filter (where c.state = 'waiting'), 0)::bigint as waiting,
           min(c.oldest) filter (where c.state = 'queued') as oldest
    from plait._live_counts(null) c
    group by 1
  ), fared as (
    select m.tenant_id,
           sum(m.succeeded + m.skipped + m.failed + m.dead_letter + m.retried
                 + m.lost)::bigint as ended,
           sum(m.failed + m.dead_letter + m.retried + m.lost)::bigint as failed,
           sum(m.run_s) as run_s
    from plait.minutes m
    where m.minute >= coalesce(p_from, plait.now() - interval '1 hour')
    group by 1
  ), shares as (
    select t.id, coalesce(l.scheduled, 0) as scheduled, coalesce(l.queued, 0) as queued,
           coalesce(l.running, 0) as running, coalesce(l.waiting, 0) as waiting, l.oldest,
           coalesce(f.ended, 0) as ended, f.failed::float8 / nullif(f.ended, 0) as failure_rate,
           coalesce(f.run_s, 0) as run_s,
           l.running::float8 / nullif(sum(l.running) over (), 0) as share,
           case when l.queued + l.running > 0 and not t.paused then
                  t.weight::float8 / sum(t.weight) filter (
                    where l.queued + l.running > 0 and not t.paused) over () end as fair_share,
           sum(l.queued) over () - coalesce(l.queued, 0) as others
    from plait.tenants t
    left join live l on l.tenant_id = t.id
    left join fared f on f.tenant_id = t.id
  )
  select s.id, s.scheduled, s.queued, s.running, s.waiting,
         case when s.queued > 0 then
                greatest(0, extract(epoch from plait.now() - s.oldest))::float8 end,
         s.ended, s.failure_rate, s.run_s, s.share, s.fair_share,
         array_remove(array[
           case when s.share > 2 * s.fair_share and s.others > 0 then 'slots' end,
           case when s.queued > 1000 and s.queued > s.others and s.others > 0 then 'backlog' end,
           case when s.failure_rate > 0.5 and s.ended >= 20 then 'failures' end], null)
  from shares s
$$;
