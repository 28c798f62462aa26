-- job_times: how long a job took, how long its handler ran, and how long it waited in between.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.job_times, users
--
--   select * from plait.job_times(:'failed_job');
--
-- total_s: from the job's first start to its end, or until now. own_s: how long its handler ran, in
-- all attempts. waiting_s: the difference, in which the job was suspended, in backoff or queued
-- again. A job that has not started has no row.
create or replace function plait.job_times(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (total_s float8, own_s float8, waiting_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  j       plait.job;
  v_total float8;
  v_own   float8;
begin
  select * into j from plait.get_job(p_job, p_tenant, p_all);
  if j.started_at is null then
    return;
  end if;
  v_total := extract(epoch from coalesce(j.finished_at, plait.now()) - j.started_at);
  select coalesce(sum(extract(epoch from a.finished_at - a.started_at)), 0) into v_own
  from plait.attempts a
  where a.job_id = p_job and a.started_at is not null;
  v_own := v_own + coalesce(extract(epoch from plait.now() - j.claimed_at), 0);
  return query select greatest(v_total, v_own, 0), greatest(v_own, 0), greatest(v_total - v_own, 0);
end $$;
