-- _delete_jobs: delete final jobs and all their rows. With p_archive, return them as JSON lines.
--
--   moves    nothing
--   locks    the caller holds the jobs' rows
--   raises   nothing
--   called   prune, _prune_descendants
create or replace function plait._delete_jobs(p_jobs uuid[], p_archive boolean) returns text[]
language plpgsql as $$
declare v_archive text[] := case when p_archive then plait._archive(p_jobs) end;
begin
  with d as (
    delete from plait.attempts where job_id = any(p_jobs) returning tenant_id, job_id, final
  )
  insert into plait.failure_changes (tenant_id, job_id)
  select distinct d.tenant_id, d.job_id from d where d.final in ('failed', 'dead_letter');
  delete from plait.search_values where job_id = any(p_jobs);
  delete from plait.idempotency where job_id = any(p_jobs);
  delete from plait.steps where job_id = any(p_jobs);
  delete from plait.signals where job_id = any(p_jobs);
  delete from plait.stream_items where job_id = any(p_jobs);
  delete from plait.streams where job_id = any(p_jobs);
  delete from plait.log_lines where job_id = any(p_jobs);
  delete from plait.event_waits where job_id = any(p_jobs);
  delete from plait.update_replies where job_id = any(p_jobs);
  delete from plait.job_states where job_id = any(p_jobs);
  delete from plait.job_tokens where job_id = any(p_jobs);
  delete from plait.fan_out_order
  where fan_out_id in (select id from plait.fan_outs where parent_id = any(p_jobs));
  delete from plait.dependencies where on_id = any(p_jobs);
  delete from plait.deadlines where job_id = any(p_jobs);
  delete from plait.follow_ups where job_id = any(p_jobs);
  delete from plait.forks where job_id = any(p_jobs);
  delete from plait.fan_outs where parent_id = any(p_jobs);
  update plait.artifacts set expires_at = plait.now()
  where id in (
    -- the next sweep removes these artifacts
    select a.id
    from plait.artifacts a
    where a.job_id = any(p_jobs) and a.doomed_at is null for update skip locked);
  delete from plait.jobs where id = any(p_jobs);
  return v_archive;
end $$;
