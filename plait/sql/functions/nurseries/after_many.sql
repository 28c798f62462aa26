-- after_many: add follow-ups to a running job, with a checkpoint in the same transaction.
--
--   moves    nothing; with p_always, nothing -> waiting
--   locks    the job's live row, for fencing; then the same as _add_follow_ups
--   raises   lock_not_available (55P03) if another transaction holds a row for 500 ms: the caller
--            repeats the call; otherwise the same as _add_follow_ups
--   called   plait.store.nurseries.after_many
--
-- p_always: the follow-ups run regardless of the job's outcome. They are created now, as jobs that
-- depend on this job with on_dependency_failure = run. o_status is ready, stale if the lease is
-- lost, or canceled if cancellation was requested. The call can be repeated.
create or replace function plait.after_many(
  p_worker int, p_job uuid, p_attempt int, p_name text, p_occurrence int, p_seq int, p_hash text,
  p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[] default null,
  p_priorities int[] default null, p_max_attempts int[] default null,
  p_timeouts_s float8[] default null, p_delays_s float8[] default null,
  p_dedupe_keys text[] default null, p_limit_keys text[] default null, p_branch text default '',
  p_finished int default null, p_always boolean default false,
  out o_status text, out o_ids uuid[]
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set lock_timeout = '500ms' as $$
declare
  l plait.live;
  j plait.jobs;
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
  if p_always then
    o_ids := array(
      select coalesce(k.existing, i.id)
      from unnest(p_ids) with ordinality i(id, n)
      left join plait.enqueue_many(
        p_ids => p_ids, p_definitions => p_definitions, p_payloads => p_payloads,
        p_tenants => array[l.tenant_id], p_queues => p_queues, p_priorities => p_priorities,
        p_timeouts_s => p_timeouts_s, p_delays_s => p_delays_s, p_dedupe_keys => p_dedupe_keys,
        p_limit_keys => p_limit_keys, p_source => 'system', p_wait_ms => 500,
        p_max_attempts => array(
          select coalesce(m.given, case when d.inherits_attempts then j.max_attempts end)
          from unnest(p_definitions, p_max_attempts) with ordinality m(definition, given, n)
          left join plait.definitions d on d.name = m.definition order by m.n),
        p_correlation_ids => array_fill(j.correlation_id, array[cardinality(p_ids)]),
        p_afters => array_fill('{' || p_job || '}', array[cardinality(p_ids)]),
        p_on_dependency_failures => array_fill('run'::text, array[cardinality(p_ids)])) k
        on k.requested = i.id
      order by i.n);
  else
    perform plait._add_follow_ups(
      p_job => j, p_ids => p_ids, p_definitions => p_definitions, p_payloads => p_payloads,
      p_queues => p_queues, p_priorities => p_priorities, p_max_attempts => p_max_attempts,
      p_timeouts_s => p_timeouts_s, p_delays_s => p_delays_s, p_dedupe_keys => p_dedupe_keys,
      p_limit_keys => p_limit_keys);
    o_ids := p_ids;
  end if;
  insert into plait.steps (
    job_id, tenant_id, at, seq, occurrence, attempt, name, kind, hash, branch, finished, value)
  values (p_job, l.tenant_id, plait.now(), p_seq, p_occurrence, p_attempt, p_name, 'after', p_hash,
          p_branch, p_finished,
          json_build_object(
            'ids', o_ids,
            'older',
              array(select n - 1 from generate_subscripts(o_ids, 1) n where o_ids[n] <> p_ids[n])));
end $$;
