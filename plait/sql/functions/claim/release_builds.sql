-- release_builds: let any worker run durable jobs that are queued for a build without workers.
--
--   moves    nothing
--   locks    live rows SKIP LOCKED. Never waits
--   raises   nothing
--   called   plait.store.leader.release_builds
--
-- p_after_s: how many seconds that build must have been without workers. The log of each job
-- records the release with the reason build_gone.
create or replace function plait.release_builds(
  p_after_s float8 default 300, p_limit int default 1000, out o_jobs int, out o_builds text[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  v_now    timestamptz := plait.now();
  v_queues text[] := '{}';
  v_build  text;
  r        record;
  l        plait.live;
begin
  perform plait._require_read_committed();
  o_jobs := 0; o_builds := '{}';
  for r in  -- a skip scan of the index finds the lanes without reading their jobs
    with recursive heads(queue, lane, n) as (
      (select v.queue, v.lane, 1
       from plait.live v
       where v.state = 'queued' and v.lane <> ''
       order by v.queue, v.lane limit 1)
      union all
      select y.queue, y.lane, h.n + 1
      from heads h
      cross join lateral (
        select v.queue, v.lane
        from plait.live v
        where v.state = 'queued' and v.lane <> '' and (v.queue, v.lane) > (h.queue, h.lane)
        order by v.queue, v.lane limit 1) y
      where h.n < 10000
    )
    select h.queue, h.lane from heads h where plait._build_of_lane(h.lane) is not null
  loop
    v_build := plait._build_of_lane(r.lane);
    continue when exists (
      select from plait.workers w
      where w.build = v_build
        and (w.state = 'alive' and w.expires_at > v_now
             or w.seen_at > v_now - make_interval(secs => p_after_s)));
    for l in
      select v.*
      from plait.live v
      where v.state = 'queued' and v.queue = r.queue and v.lane = r.lane and v.lane <> ''
      order by v.job_id limit p_limit - o_jobs for update skip locked
    loop
      update plait.live set
        attempt = attempt + 1,
        lane = case when l.lane like 'suspect%' then 'suspect'
                    else plait._lane(l.definition, l.tenant_id, l.limit_key) end
      where job_id = l.job_id;
      insert into plait.attempts (job_id, tenant_id, finished_at, attempt, status, reason, error)
      values (l.job_id, l.tenant_id, v_now, l.attempt + 1, 'released', 'build_gone',
              format('no worker of build %s is left: any worker may run the job', v_build));
      o_jobs := o_jobs + 1;
    end loop;
    o_builds := array(select distinct b from unnest(o_builds || v_build) b order by b);
    v_queues := v_queues || r.queue;
    exit when o_jobs >= p_limit;
  end loop;
  if cardinality(v_queues) > 0 then
    perform plait._wake_workers(v_queues);
  end if;
end $$;
