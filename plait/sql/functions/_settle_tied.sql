-- _settle_tied: the successes of jobs on whose end something hangs: children of their own, follow-ups, jobs that depend on them.
--
--   moves    running -> waiting, for who has a nursery, its result kept; -> succeeded, for who has none; -> canceled, where that was asked
--            and children are open
--   locks    live rows in id order; then as _end
--   raises   nothing: what is stale is not counted
--   called   _settle, when something of a batch did not match; _fan_in comes after it
create or replace function plait._settle_tied(
  p_worker int, p_now timestamptz, p_jobs uuid[], p_attempts int[], p_outcomes text[], p_results text[], p_ran_ms float8[],
  out o_n int, out o_ended uuid[], out o_fan_outs uuid[], out o_finals plait.status[], out o_returned uuid[]
) language plpgsql set enable_nestloop = on as $$
declare
  r         record;
  f         plait.fan_outs;
  v_started timestamptz;
begin
  o_n := 0;
  for r in
    select l, x.result::json as result, x.ran_ms
    from unnest(p_jobs, p_attempts, p_outcomes, p_results, p_ran_ms) x(id, attempt, outcome, result, ran_ms)
    join plait.live l on l.job_id = x.id and l.attempt = x.attempt
    where l.tied and l.worker + 0 = p_worker and coalesce(x.outcome, 'succeeded') = 'succeeded'
    order by l.job_id for update of l
  loop
    o_n := o_n + 1;
    v_started := greatest((r.l).run_at, p_now - make_interval(secs => least(greatest(0, coalesce(r.ran_ms, 3.2e12)), 3.2e12) / 1000));
    select * into f from plait.fan_outs where id = (r.l).job_id and decided_at is null;
    if found and not ((r.l).cancel_requested is not null and f.succeeded + f.failed + f.canceled < f.total) then
      perform plait._suspend(r.l, p_now, 'fan_out ' || f.id, null, r.result, v_started);
      o_returned := o_returned || (r.l).job_id;
      continue;
    end if;
    o_ended := o_ended || (r.l).job_id;
    o_fan_outs := o_fan_outs || (r.l).fan_out_id;
    if found then
      perform plait._end(r.l, p_now, 'canceled', 'canceled', 'cancel_requested', (r.l).cancel_reason, null, v_started);
      o_finals := o_finals || 'canceled'::plait.status;
    else
      perform plait._end(r.l, p_now, 'succeeded', 'succeeded', null, null, r.result, v_started);
      o_finals := o_finals || 'succeeded'::plait.status;
    end if;
  end loop;
end $$;
