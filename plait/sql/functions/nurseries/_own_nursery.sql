-- _own_nursery: create a job's own nursery on first use. The nursery has the job's id.
--
--   moves    nothing
--   locks    the job's live row, when the nursery is created
--   raises   PL009 if the job is final
--   called   _add_follow_ups, open_nursery, spawn, spawn_many
create or replace function plait._own_nursery(p_job plait.jobs) returns void
language plpgsql as $$
begin
  update plait.live set tied = true where job_id = p_job.id and not tied;
  if not exists (select from plait.live where job_id = p_job.id) then
    raise exception 'job % has ended, so it cannot get new children', p_job.id
      using errcode = 'PL009';
  end if;
  insert into plait.fan_outs (
    id, tenant_id, parent_id, root_id, created_at, depth, total, needed, early, streamed, nested,
    cancel_remaining, cancel_on_parent_failure, strategy, serial, stop)
  select p_job.id, p_job.tenant_id, p_job.id, coalesce(p_job.root_id, p_job.id), plait.now(),
         coalesce(p_job.depth, 0) + 1, 0, 0, false, false, coalesce(d.allow_nested, true), false,
         coalesce(d.cancel_on_parent_failure, false), 'nursery',
         coalesce(d.child_mode = 'serial', false), coalesce(d.on_child_failure = 'stop', false)
  from (select) one
  left join plait.definitions d on d.name = p_job.definition
  on conflict do nothing;
end $$;
