-- _fail_past_deadlines: turn timeouts caused by a job's deadline into permanent failures.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _settle
--
-- Returns the details of all outcomes, changed where needed. Called only if the batch contains a
-- timeout.
create or replace function plait._fail_past_deadlines(
  p_now timestamptz, p_jobs uuid[], p_outcomes text[], p_details text[]
) returns text[]
language sql stable as $$
  select array_agg(case when k.job_id is null then x.detail
                        else plait._deadline_error(k.deadline_s, true)::text end
                   order by x.n)
  from unnest(p_jobs, p_outcomes, p_details) with ordinality x(id, outcome, detail, n)
  left join plait.deadlines k on k.job_id = x.id and k.due_at <= p_now and x.outcome = 'timeout'
$$;
