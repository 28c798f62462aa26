-- spawn_many: spawn children or siblings of a running job and checkpoint them in one transaction.
--
--   moves    the same as _spawn
--   locks    the job's live row, for fencing; then the same as _spawn
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; otherwise the same as _spawn; PL009 for siblings of a job that has
--            no parent
--   called   plait.store.nurseries.spawn_many
--
-- o_status is ready, stale if the lease is lost, or canceled if cancellation was requested. The
-- call can be repeated. The checkpoint stores which children are older jobs, by position, so that a
-- replay gets the same ids. p_nursery: a nursery that the job has opened; null: the job's own
-- nursery, which prevents the job from becoming final until all its children have ended.
create or replace function plait.spawn_many(
  p_worker int, p_job uuid, p_attempt int, p_nursery uuid, p_sibling boolean,
  p_name text, p_occurrence int, p_seq int, p_hash text,
  p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[] default null,
  p_priorities int[] default null, p_max_attempts int[] default null,
  p_timeouts_s float8[] default null, p_delays_s float8[] default null,
  p_dedupe_keys text[] default null, p_limit_keys text[] default null, p_branch text default '',
  p_finished int default null, out o_status text, out o_ids uuid[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  l plait.live;
  j plait.jobs;
  p plait.jobs;
begin
  perform plait._require_read_committed();
  l := plait._lock_attempt(p_worker, p_job, p_attempt);
  o_status := case when l.job_id is null then 'stale'
                   when l.cancel_requested is not null then 'canceled'
                   else 'ready' end;
  if o_status <> 'ready' then
    return;
  end if;
  select array(select json_array_elements_text(s.value -> 'ids')::uuid) into o_ids
  from plait.steps s
  where s.job_id = p_job and s.branch = p_branch and s.name = p_name
    and s.occurrence = p_occurrence;
  if found then
    return;
  end if;
  select * into j from plait.jobs where id = p_job;
  if not p_sibling then
    if p_nursery is null then
      perform plait._own_nursery(j);
    end if;
    o_ids := plait._spawn(
      p_parent => j, p_nursery => coalesce(p_nursery, p_job), p_ids => p_ids,
      p_definitions => p_definitions, p_payloads => p_payloads, p_queues => p_queues,
      p_priorities => p_priorities, p_max_attempts => p_max_attempts,
      p_timeouts_s => p_timeouts_s, p_delays_s => p_delays_s, p_dedupe_keys => p_dedupe_keys,
      p_limit_keys => p_limit_keys);
  elsif j.parent_id is null then
    raise exception 'job % has no parent, so it cannot have siblings', p_job
      using errcode = 'PL009';
  else
    select * into p from plait.jobs where id = j.parent_id;
    o_ids := plait._spawn(
      p_parent => p, p_nursery => j.fan_out_id, p_ids => p_ids, p_definitions => p_definitions,
      p_payloads => p_payloads, p_queues => p_queues, p_priorities => p_priorities,
      p_max_attempts => p_max_attempts, p_timeouts_s => p_timeouts_s, p_delays_s => p_delays_s,
      p_dedupe_keys => p_dedupe_keys, p_limit_keys => p_limit_keys);
  end if;
  insert into plait.steps (
    job_id, tenant_id, at, seq, occurrence, attempt, name, kind, hash, branch, finished, value)
  values (p_job, l.tenant_id, plait.now(), p_seq, p_occurrence, p_attempt, p_name, 'spawn', p_hash,
          p_branch, p_finished,
          json_build_object(
            'ids', o_ids,
            'older',
              array(select n - 1
                    from unnest(o_ids, p_ids) with ordinality u(id, asked, n)
                    where id <> asked)));
end $$;
