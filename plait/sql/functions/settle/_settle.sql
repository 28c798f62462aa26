-- _settle: record the outcomes of running attempts, for settle and cycle.
--
--   moves    running -> succeeded | failed | dead_letter | skipped | canceled | scheduled | queued
--            | waiting
--   locks    live rows in id order within one pass, then dedupe keys, then the same as _fan_in.
--            These are rows of jobs that this worker runs: no other settle locks them, but users'
--            calls do (cancel; enqueue(after=…) locks several, in id order). Later passes wait at
--            most 20 ms: they already hold rows, so a longer wait could be a deadlock
--   raises   lock_not_available (55P03); nothing for a lost lease: the position of the outcome is
--            returned
--   called   cycle, settle, _settle_skip_locked
--
-- The live row is the fence: (job, attempt, worker), and only a running job has a worker. Attempts
-- are written only from the rows that matched.
-- There is one pass for each distinct attempt number, because `job_id = any(…)` walks the primary
-- key leaf by leaf, which is twice as fast as a join.
create or replace function plait._settle(
  p_worker int, p_now timestamptz, p_jobs uuid[], p_attempts int[], p_outcomes text[],
  p_results text[], p_details text[], p_ran_ms float8[]
) returns int[]
language plpgsql as $$
declare
  v_attempt   int;
  v_succeeded uuid[];
  v_others    uuid[];
  v_settled   int := 0;
  v_n         int;
  v_queues    text[];
  v_done      record;
  v_ended     uuid[];              -- final children of fan-outs, and all jobs that did not succeed
  v_fan_outs  uuid[];
  v_finals    plait.status[];
  v_returned  uuid[];              -- jobs that wait for children after their handler ended
  v_outcomes  plait.status[];      -- their final status if the handler failed, otherwise null
  v_lock_timeout text;
  v_build     text;                -- this worker's build: durable jobs continue on workers of
                                   -- this build after a release or failure
begin
  if 'timeout' = any(p_outcomes)
     and exists (select from plait.deadlines where due_at is not null) then
    p_details := plait._fail_past_deadlines(p_now, p_jobs, p_outcomes, p_details);
  end if;
  if p_outcomes is null then
    if p_attempts[1] <> any(p_attempts) then
      p_outcomes := array_fill('succeeded'::text, array[cardinality(p_jobs)]);
    else
      v_done := plait._settle_succeeded(
        p_worker => p_worker, p_now => p_now, p_attempt => p_attempts[1], p_succeeded => p_jobs,
        p_jobs => p_jobs, p_attempts => p_attempts, p_results => p_results, p_ran_ms => p_ran_ms);
      v_settled := v_done.o_n;
      v_ended := v_done.o_children;
      v_fan_outs := v_done.o_fan_outs;
      v_finals := array(select 'succeeded'::plait.status from unnest(v_ended));
    end if;
  end if;

  for v_attempt in select distinct a from unnest(p_attempts) a where p_outcomes is not null loop
    select array_agg(x.id) filter (where x.outcome = 'succeeded'),
           array_agg(x.id) filter (where x.outcome <> 'succeeded')
    into v_succeeded, v_others
    from unnest(p_jobs, p_attempts, p_outcomes) x(id, attempt, outcome)
    where x.attempt = v_attempt;

    if v_succeeded is not null and v_settled > 0 then
      v_lock_timeout := coalesce(v_lock_timeout, current_setting('lock_timeout'));
      perform set_config('lock_timeout', '20ms', true);
    end if;
    if v_succeeded is not null then
      v_done := plait._settle_succeeded(
        p_worker => p_worker, p_now => p_now, p_attempt => v_attempt, p_succeeded => v_succeeded,
        p_jobs => p_jobs, p_attempts => p_attempts, p_results => p_results, p_ran_ms => p_ran_ms);
      v_settled := v_settled + v_done.o_n;
      if v_done.o_children is not null then
        v_ended := v_ended || v_done.o_children;
        v_fan_outs := v_fan_outs || v_done.o_fan_outs;
        v_finals := v_finals
          || array_fill('succeeded'::plait.status, array[cardinality(v_done.o_children)]);
      end if;
    end if;

    if v_others is not null and v_settled > 0 then
      v_lock_timeout := coalesce(v_lock_timeout, current_setting('lock_timeout'));
      perform set_config('lock_timeout', '20ms', true);   -- from the second pass on
    end if;
    if v_others is not null then
      v_build := (select w.build from plait.workers w where w.id = p_worker);
      with c as materialized (
        select l.job_id, l.tenant_id, l.run_at, l.queue, l.dedupe_key, l.cancel_requested,
               l.definition, l.limit_key, l.fan_out_id,
               greatest(l.run_at,
                        p_now
                          - make_interval(secs => least(greatest(0, coalesce(x.ran_ms, 3.2e12)),
                                                        3.2e12) / 1000)) as started_at,
               case when l.cancel_requested is not null or l.cancel_by is not null then
                      coalesce(x.error, l.cancel_reason)
                    else x.error end as error,
               coalesce(d.kind = 'node', false) as node, x.traceback, x.reason, x.pid, x.exit_code,
               x.failure, x.result,
               case when l.cancel_requested is not null then 'canceled'
                    -- no cancellation was requested: the worker only released the job
                    when x.outcome = 'canceled' and l.cancel_by is null then 'released'
                    else x.outcome end as outcome,
               plait._final_status(
                 case when x.outcome = 'canceled' then coalesce(l.cancel_requested, l.cancel_by)
                      else l.cancel_requested end,
                 x.outcome, x.permanent, l.failed_attempts, l.max_attempts) as final,
               case when x.outcome in ('failed', 'timeout') then l.failed_attempts + 1
                    else l.failed_attempts end as failed_attempts,
               case when x.outcome = 'snoozed'
                         or (x.outcome = 'failed' and x.delay_s is not null) then
                      coalesce(x.delay_s, 0)
                    when x.outcome in ('failed', 'timeout') then
                      plait._backoff(l.failed_attempts + 1, d.backoff_base_s, d.backoff_factor,
                                     d.backoff_max_s, d.backoff_jitter)
                    else 0 end as delay_s
        from plait.live l
        join (select u.id, u.attempt, u.outcome, u.result, u.ran_ms, d.*
              from unnest(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms)
                   u(id, attempt, outcome, result, detail, ran_ms)
              cross join lateral plait._parse_detail(u.detail) d
              where u.outcome <> 'succeeded' and u.attempt = v_attempt) x
          on x.id = l.job_id and x.attempt = v_attempt
        left join plait.definitions d on d.name = l.definition
        -- `worker + 0`: see _settle_succeeded
        where l.job_id = any(v_others) and l.attempt = v_attempt and l.worker + 0 = p_worker
          and (l.lane not in ('leader', 'suspect:leader') or plait._still_leads(p_worker, l.run_at))
          and not (l.tied
                   and plait._final_status(
                     case when x.outcome = 'canceled' then coalesce(l.cancel_requested, l.cancel_by)
                          else l.cancel_requested end,
                     x.outcome, x.permanent, l.failed_attempts, l.max_attempts) is not null
                   and plait._has_open_children(l.job_id))
        order by l.job_id for update of l
      ), del as (
        delete from plait.live l using c where c.final is not null and l.job_id = c.job_id
      ), upd as (
        update plait.live l set
          state = case when c.delay_s > 0 then 'scheduled' else 'queued' end::plait.status,
          run_at = p_now + make_interval(secs => c.delay_s), worker = null,
          failed_attempts = c.failed_attempts,
          -- The worker is alive, so the job is no longer a suspect, unless it was released before
          -- it ran.
          losses = case when c.outcome = 'released' then l.losses else 0 end,
          suspect_group = case when c.outcome = 'released' then l.suspect_group end,
          lane = case when c.outcome = 'released'
                           and (v_build is null or l.lane like 'suspect%') then l.lane
                      else plait._lane(
                        l.definition, l.tenant_id, l.limit_key, l.lane,
                        case
                          when v_build is not null
                               and exists (select from plait.steps s where s.job_id = l.job_id) then
                            v_build end) end,
          tied = l.tied or c.node  -- the job may have been enqueued before its kind was known
        from c
        where c.final is null and l.job_id = c.job_id
      ), k as (
        delete from plait.dedupe u using c
        where c.final is not null and c.dedupe_key is not null
          and u.tenant_id = c.tenant_id and u.key = c.dedupe_key and u.job_id = c.job_id
      ), a as (
        insert into plait.attempts (
          job_id, tenant_id, claimed_at, started_at, finished_at, attempt, worker, status, final,
          pid, exit_code, reason, error, traceback, failure, result)
        select c.job_id, c.tenant_id, c.run_at, c.started_at, p_now,
               v_attempt, p_worker, c.outcome::plait.outcome, c.final::plait.status,
               c.pid, c.exit_code,
               coalesce(c.reason,
                        case c.final when 'dead_letter' then 'attempts_exhausted'
                             when 'failed' then 'permanent'
                             when 'canceled' then 'cancel_requested' end),
               c.error, c.traceback, c.failure, c.result::json
        from c
        returning 1
      ), f as (
        insert into plait.failure_changes (tenant_id, job_id)
        select c.tenant_id, c.job_id from c where c.final in ('failed', 'dead_letter')
      )
      select count(*),
             (select array_agg(distinct queue) from c where final is null and delay_s <= 0),
             v_ended || (select array_agg(job_id) from c where final is not null),
             v_fan_outs || (select array_agg(fan_out_id) from c where final is not null),
             v_finals || (select array_agg(final::plait.status) from c where final is not null)
      into v_n, v_queues, v_ended, v_fan_outs, v_finals
      from a;
      v_settled := v_settled + v_n;
      if v_queues is not null then
        perform plait._wake_workers(v_queues);
      end if;
    end if;
  end loop;

  if v_settled > 0 and v_settled < cardinality(p_jobs) then
    v_lock_timeout := coalesce(v_lock_timeout, current_setting('lock_timeout'));
    perform set_config('lock_timeout', '20ms', true);
  end if;
  if v_settled < cardinality(p_jobs) then  -- the other outcomes are stale, or their jobs are tied
    v_done := plait._settle_tied(
      p_worker => p_worker, p_now => p_now, p_jobs => p_jobs, p_attempts => p_attempts,
      p_outcomes => p_outcomes, p_results => p_results, p_details => p_details,
      p_ran_ms => p_ran_ms);
    v_settled := v_settled + v_done.o_n;
    v_ended := v_ended || v_done.o_ended;
    v_fan_outs := v_fan_outs || v_done.o_fan_outs;
    v_finals := v_finals || v_done.o_finals;
    v_returned := v_done.o_returned;
    v_outcomes := v_done.o_outcomes;
  end if;

  if v_lock_timeout is not null then
    perform set_config('lock_timeout', v_lock_timeout, true);
  end if;

  if p_details is not null then  -- a command that succeeded has an exit code too
    update plait.attempts a set exit_code = d.exit_code
    from unnest(p_jobs, p_attempts, p_outcomes, p_details) x(id, attempt, outcome, detail)
    cross join lateral plait._parse_detail(x.detail) d
    where x.detail is not null and coalesce(x.outcome, 'succeeded') = 'succeeded'
      and a.job_id = x.id and a.attempt = x.attempt and a.worker = p_worker
      and a.status = 'succeeded' and a.exit_code is null;
  end if;

  if exists (select from plait.running_state)
     and exists (select from plait.running_state where job_id = any(p_jobs)) then
    with r as (
      delete from plait.running_state s using unnest(p_jobs, p_attempts) x(id, attempt)
      where s.job_id = x.id and s.attempt = x.attempt
        and exists (select from plait.attempts a where a.job_id = x.id and a.attempt = x.attempt)
      returning s.job_id, s.attempt, s.progress
    )
    update plait.attempts a set progress = r.progress
    from r
    where a.job_id = r.job_id and a.attempt = r.attempt;
  end if;

  if v_ended is not null or v_returned is not null then
    perform plait._fan_in(
      p_now => p_now, p_jobs => v_ended, p_fan_outs => v_fan_outs, p_finals => v_finals,
      p_returned => v_returned, p_outcomes => v_outcomes);
  end if;
  if v_settled = cardinality(p_jobs) then
    return null;
  end if;
  -- An outcome that matched no row is accepted if this worker has recorded it before. Otherwise it
  -- is stale: it differs from the recorded outcome, or rescue or a forced cancellation has ended
  -- the attempt.
  return (select array_agg(x.n::int order by x.n)
          from (select u.id, u.attempt, coalesce(u.outcome, 'succeeded') as outcome, u.n
                from unnest(p_jobs, p_attempts, p_outcomes) with ordinality
                     u(id, attempt, outcome, n)) x
          where not exists (
            select from plait.attempts a
            where a.job_id = x.id and a.attempt = x.attempt and a.worker = p_worker
              and coalesce(a.reason, '') not in ('cancel_forced', 'not_held')
              and (a.status::text = x.outcome or a.status = 'canceled' and x.outcome <> 'succeeded'
                   or a.status = 'released' and x.outcome = 'canceled'
                   or a.status = 'suspended' and x.outcome = 'succeeded')));
end $$;
