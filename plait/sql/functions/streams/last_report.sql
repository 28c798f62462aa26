-- last_report: the last progress and state that earlier attempts reported.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: without the lease both are null
--   called   plait.store.workers.last_report
create or replace function plait.last_report(
  p_worker int, p_job uuid, p_attempt int, out o_progress text, out o_state text
)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
begin
  perform from plait.live l
  where l.job_id = p_job and l.attempt = p_attempt and l.worker = p_worker;
  if not found then
    return;
  end if;
  select a.progress::text into o_progress
  from plait.attempts a
  where a.job_id = p_job and a.attempt < p_attempt and a.progress is not null
  order by a.attempt desc limit 1;
  select s.value::text into o_state from plait.job_states s where s.job_id = p_job;
end $$;
