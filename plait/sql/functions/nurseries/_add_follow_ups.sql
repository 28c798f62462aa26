-- _add_follow_ups: validate and store the follow-ups of a job.
--
--   moves    nothing
--   locks    the same as _own_nursery; the nursery's row
--   raises   PL001 invalid argument, PL002 invalid id, PL007 inactive definition, PL009 if the job
--            is final
--   called   after, after_many
--
-- Follow-ups are validated here, because enqueueing them later must not fail: that would prevent
-- the job from succeeding.
create or replace function plait._add_follow_ups(
  p_job plait.jobs, p_ids uuid[], p_definitions text[], p_payloads text[], p_queues text[],
  p_priorities int[], p_max_attempts int[], p_timeouts_s float8[], p_delays_s float8[],
  p_dedupe_keys text[], p_limit_keys text[]
) returns void
language plpgsql as $$
declare
  v_payloads json[];
begin
  v_payloads := plait._check_jobs(
    p_now => plait.now(), p_ids => p_ids, p_definitions => p_definitions, p_payloads => p_payloads,
    p_queues => p_queues, p_priorities => p_priorities, p_max_attempts => p_max_attempts,
    p_delays_s => p_delays_s, p_timeouts_s => p_timeouts_s, p_dedupe_keys => p_dedupe_keys,
    p_limit_keys => p_limit_keys);
  perform plait._require_active(p_definitions);
  if exists (select from plait.jobs where id = any(p_ids)) then
    raise exception 'a job id must be a new UUIDv7 that was generated within a day of now'
      using errcode = 'PL002';
  end if;
  perform plait._own_nursery(p_job);
  perform from plait.fan_outs
  where id = p_job.id and decided_at is null and parent_final is null for no key update;
  if not found then
    raise exception 'job % is final: it accepts no follow-ups', p_job.id using errcode = 'PL009';
  end if;
  insert into plait.follow_ups (
    job_id, id, tenant_id, timeout_s, delay_s, priority, max_attempts, definition, queue,
    dedupe_key, limit_key, payload)
  select p_job.id, i.id, p_job.tenant_id, i.timeout_s, i.delay_s, o.priority, o.max_attempts,
         i.definition, o.queue, i.dedupe_key, i.limit_key, i.payload
  from unnest(p_ids, p_definitions, v_payloads, p_queues, p_priorities, p_max_attempts,
              p_timeouts_s, p_delays_s, p_dedupe_keys, p_limit_keys)
       i(id, definition, payload, queue, priority, max_attempts,
         timeout_s, delay_s, dedupe_key, limit_key)
  left join plait.definitions d on d.name = i.definition
  cross join plait._resolve_options(
    p_definition => d, p_name => i.definition, p_queue => i.queue, p_priority => i.priority,
    p_max_attempts => i.max_attempts, p_parent_attempts => p_job.max_attempts,
    p_defaults => null) o
  on conflict do nothing;
end $$;
