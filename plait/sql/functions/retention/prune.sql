-- prune: delete final jobs that are older than their retention time, and other expired rows.
--
--   moves    nothing
--   locks    job rows SKIP LOCKED: safe to run in several processes at once; a job that is being
--            retried is skipped, because the retry holds its row and its root's
--   raises   PL012 if no retention time is given, or one is negative: an empty filter must not
--            delete everything
--   called   plait.store.leader.prune, plait.store.leader.prune_into
--
-- A workflow is deleted as a whole, children first, by its root's status and age, and only if
-- nothing in it is live and no fork of it is kept (plait.forks). If the retention time of a status
-- is null, jobs with that status are kept forever. A tenant may have its own retention times. A
-- call reads p_limit ids, oldest first. Pass o_cursor to the next call; it is null at the end. With
-- p_archive, the deleted jobs are returned (_archive): store them, then commit; roll back if that
-- fails.
create or replace function plait.prune(
  p_succeeded interval default null, p_skipped interval default null,
  p_canceled interval default null, p_failed interval default null,
  p_dead_letter interval default null, p_cursor uuid default null, p_limit int default 1000,
  p_archive boolean default false, out o_pruned int, out o_cursor uuid, out o_archive text[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  v_now  timestamptz := plait.now();
  v_keep interval := least(p_succeeded, p_skipped, p_canceled, p_failed, p_dead_letter);
  v_last uuid;
  v_seen int;
  v_jobs uuid[];
  v_root uuid;
  v_below record;
begin
  perform plait._require_read_committed();
  select least(v_keep, min(e.value::float8) * interval '1 s') into v_keep
    from plait.tenants t, jsonb_each_text(t.retention) e where t.retention <> '{}';
  if v_keep is null then
    raise exception 'at least one status must have a retention time' using errcode = 'PL012';
  end if;
  if v_keep < interval '0' then
    raise exception 'a retention time must not be negative' using errcode = 'PL012';
  end if;
  select count(*), (array_agg(id order by id desc))[1] into v_seen, v_last from (
    select id from plait.jobs where id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000')
      -- an id may be up to a day ahead of its row's time
      and id < plait._uuid_floor(v_now - v_keep + interval '1 day')
    order by id limit p_limit) s;
  o_cursor := case when v_seen = p_limit then v_last end;
  o_pruned := 0;
  -- Old workers: recent ones stay, so that logs can name the host of an attempt, and for the
  -- history.
  delete from plait.workers
  where id in (
    select id
    from plait.workers
    where state <> 'alive' and ended_at < v_now - interval '30 days' and not clearing
    order by ended_at, id limit p_limit for update skip locked);
  delete from plait.nodes n
  where n.state in ('lost', 'left')
    and not exists (select from plait.workers w where w.node = n.name);
  delete from plait.locks
  where name in (
    select k.name
    from plait.locks k
    where k.name like 'wake %'
      and not exists (select from plait.workers w where substr(k.name, 6) = any(w.queues))
    limit p_limit for update skip locked);
  delete from plait.buckets
  where name in (
    select name
    from plait.buckets
    where full_at <= v_now
    order by full_at limit p_limit for update skip locked);
  -- Old firings. A schedule does not need them: its cursor never moves back.
  delete from plait.fires
  where id in (
    select id
    from plait.fires
    where at < v_now - interval '30 days' and outcome <> 'held'
    order by at limit p_limit for update skip locked);
  delete from plait.events
  where id in (
    select id
    from plait.events
    where id < plait._uuid_floor(v_now - interval '30 days') and dispatched_at is not null
    order by id limit p_limit for update skip locked);
  -- Triggers that were deleted more than 31 days ago: their firings are older than 30 days.
  delete from plait.triggers
  where id in (
    select id
    from plait.triggers
    where deleted_at < v_now - interval '31 days'
    order by deleted_at limit p_limit for update skip locked);

  select array_agg(c.id order by c.id) into v_jobs
  from (
    select j.id
    from plait.jobs j
    cross join lateral (select a.final, a.finished_at
                        from plait.attempts a
                        where a.job_id = j.id
                        order by a.attempt desc limit 1) a
    left join plait.tenants t
      on t.id = j.tenant_id and t.retention <> '{}' and t.retention ? a.final::text
    where j.id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000') and j.id <= v_last
      and j.root_id is null
      and a.finished_at < v_now - case when t.id is not null then
                                         (t.retention ->> a.final::text)::float8 * interval '1 s'
                                       else case a.final when 'succeeded' then p_succeeded
                                                 when 'skipped' then p_skipped
                                                 when 'canceled' then p_canceled
                                                 when 'failed' then p_failed
                                                 when 'dead_letter' then p_dead_letter end end
      and not exists (select from plait.live l where l.job_id = j.id)
      and not exists (select from plait.live l where l.root_id = j.id)
      and not exists (select from plait.forks f
                      where f.tenant_id = j.tenant_id and f.root_id = j.id)
    for update of j skip locked) c;
  if v_jobs is null then
    return;
  end if;
  -- Check again now that the rows are locked: a job may have been retried meanwhile, and may even
  -- have ended again.
  select array_agg(u.id) into v_jobs
  from unnest(v_jobs) u(id)
  where not exists (select from plait.jobs j
                    join plait.forks f on f.tenant_id = j.tenant_id and f.root_id = j.id
                    where j.id = u.id)
    and not exists (select from plait.live l where l.job_id = u.id)
    and not exists (select from plait.live l where l.root_id = u.id)
    and not exists (select from plait.attempts a
                    where a.job_id = u.id and a.finished_at >= v_now - v_keep);
  -- If a user's transaction holds the row of a job's idempotency key, the job is left for the next
  -- call.
  v_jobs := array(select id
                  from unnest(v_jobs) id
                  where id <> all(
                    array(
                      select i.job_id
                      from plait.idempotency i
                      where i.job_id = any(v_jobs)
                        and i.ctid <> all(
                          array(select h.ctid
                                from plait.idempotency h
                                where h.job_id = any(v_jobs) for update skip locked)))));
  for v_root in
    select distinct f.root_id from plait.fan_outs f where f.root_id = any(v_jobs) order by 1
  loop
    v_below := plait._prune_descendants(v_root, greatest(p_limit - o_pruned, 100), p_archive);
    o_pruned := o_pruned + v_below.o_pruned;
    o_archive := o_archive || v_below.o_archive;
    if exists (select from plait.jobs j where j.root_id = v_root) then
      -- The workflow has too many jobs for one batch: the next call continues here.
      v_jobs := array(select i from unnest(v_jobs) i where i < v_root);
      o_cursor := coalesce(
        (select max(j.id::text)::uuid
         from plait.jobs j
         where j.id < v_root and j.id > coalesce(p_cursor, '00000000-0000-0000-0000-000000000000')),
        p_cursor, '00000000-0000-0000-0000-000000000000');
      exit;
    end if;
  end loop;
  o_archive := o_archive || plait._delete_jobs(v_jobs, p_archive);
  o_pruned := o_pruned + coalesce(cardinality(v_jobs), 0);
end $$;
