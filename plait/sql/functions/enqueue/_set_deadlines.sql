-- _set_deadlines: set the deadlines of new and retried jobs. Default: the definition's deadline.
--
--   moves    nothing
--   locks    nothing that others hold: the jobs are new, or the caller holds them
--   raises   a check violation for an invalid deadline
--   called   _enqueue_follow_ups, enqueue_many, fork, open_fan_out, _retry, _spawn
--
-- A deadline counts from the time at which a job may start. It includes the time in the queue and
-- all retries. A job that an operator retries gets its previous deadline again.
create or replace function plait._set_deadlines(
  p_ids uuid[], p_definitions text[], p_deadlines_s float8[] default null,
  p_again boolean default false
) returns void language plpgsql as $$
begin
  if p_deadlines_s is null and not p_again
     and not exists (select from plait.definitions d
                     where d.name = any(p_definitions) and d.deadline_s is not null) then
    return;
  end if;
  insert into plait.deadlines as k (job_id, tenant_id, due_at, deadline_s)
  select j.id, j.tenant_id,
         greatest(j.scheduled_for, plait.now()) + make_interval(secs => x.deadline_s), x.deadline_s
  from unnest(p_ids, p_deadlines_s) i(id, asked_s)
  join plait.jobs j on j.id = i.id
  left join plait.definitions d on d.name = j.definition
  left join plait.deadlines o on o.job_id = i.id
  cross join lateral (select coalesce(i.asked_s, o.deadline_s, d.deadline_s) as deadline_s) x
  where x.deadline_s is not null
  on conflict (job_id) do update set due_at = excluded.due_at;
end $$;
