-- _settle_tied: record outcomes of jobs with children, follow-ups or dependents (live.tied).
--
--   moves    running -> waiting, for a job with open children; -> succeeded, for others; -> queued,
--            for a leader's job whose process no longer leads: that outcome is stale
--   locks    live rows in id order; the leader's row FOR SHARE, for a leader's job; then as
--            _make_final
--   raises   lock_not_available (55P03); nothing for stale outcomes: they are not counted
--   called   _settle
--
-- _settle calls it if an outcome of the batch matched no other row, and calls _fan_in afterwards.
-- It handles successes, and final failures of jobs with open children; _settle records all other
-- outcomes. The result or error is stored with the attempt. o_outcomes: the final status that the
-- job gets when its children have ended; null if they decide it.
create or replace function plait._settle_tied(
  p_worker int, p_now timestamptz, p_jobs uuid[], p_attempts int[], p_outcomes text[],
  p_results text[], p_details text[], p_ran_ms float8[], out o_n int, out o_ended uuid[],
  out o_fan_outs uuid[], out o_finals plait.status[], out o_returned uuid[],
  out o_outcomes plait.status[]
) language plpgsql
set enable_nestloop = on as $$
declare
  r         record;
  l         plait.live;
  v_started timestamptz;
  v_final   plait.status;
begin
  o_n := 0;
  for r in
    select v as live, x.result::json as result, x.ran_ms,
           coalesce(x.outcome, 'succeeded') as outcome, d.*
    from unnest(p_jobs, p_attempts, p_outcomes, p_results, p_details, p_ran_ms)
         x(id, attempt, outcome, result, detail, ran_ms)
    join plait.live v on v.job_id = x.id and v.attempt = x.attempt
    cross join lateral plait._parse_detail(x.detail) d
    where v.tied and v.worker + 0 = p_worker
    order by v.job_id for update of v
  loop
    l := r.live;
    if l.lane in ('leader', 'suspect:leader') and not plait._still_leads(p_worker, l.run_at) then
      perform plait._requeue_leader_job(l, p_now);   -- stale: another process leads
      perform plait._wake_workers(array[l.queue]);
      continue;
    end if;
    o_n := o_n + 1;
    v_started := greatest(
      l.run_at,
      p_now - make_interval(secs => least(greatest(0, coalesce(r.ran_ms, 3.2e12)), 3.2e12) / 1000));
    v_final :=
      case when r.outcome <> 'succeeded' then
             plait._final_status(
               case when r.outcome = 'canceled' then coalesce(l.cancel_requested, l.cancel_by)
                    else l.cancel_requested end,
               r.outcome, r.permanent, l.failed_attempts, l.max_attempts) end;
    if r.outcome = 'succeeded'
       and not exists (select from plait.fan_outs f
                       where f.id = l.job_id and f.decided_at is null) then
      perform plait._make_final(
        p_live => l, p_now => p_now, p_status => 'succeeded', p_final => 'succeeded',
        p_reason => null, p_error => null, p_result => r.result, p_started_at => v_started);
      o_ended := o_ended || l.job_id; o_fan_outs := o_fan_outs || l.fan_out_id;
      o_finals := o_finals || 'succeeded'::plait.status;
      continue;
    end if;
    if r.outcome = 'succeeded' and l.cancel_requested is not null
       and plait._has_open_children(l.job_id) then
      v_final := 'canceled';  -- the handler has returned, but the children must stop
    end if;
    perform plait._suspend(
      p_live => l, p_now => p_now, p_wait_on => 'fan_out ' || l.job_id, p_wake_at => null,
      p_result => r.result, p_started_at => v_started);
    if v_final is not null then
      update plait.attempts set
        status = case when v_final = 'canceled' then 'canceled' else r.outcome end::plait.outcome,
        reason = coalesce(
          r.reason,
          case v_final when 'dead_letter' then 'attempts_exhausted' when 'failed' then 'permanent'
                       when 'canceled' then 'cancel_requested' end),
        error = coalesce(r.error, l.cancel_reason), traceback = r.traceback, failure = r.failure,
        pid = r.pid, exit_code = r.exit_code
      where job_id = l.job_id and attempt = l.attempt;
    end if;
    o_returned := o_returned || l.job_id; o_outcomes := o_outcomes || v_final;
  end loop;
end $$;
