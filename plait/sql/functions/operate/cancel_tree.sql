-- cancel_tree: cancel a job and all its descendants.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested
--   locks    live rows SKIP LOCKED; then the same as _fan_in
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.cancel_tree, users
--
--   p_job      id of any job of the workflow
--   p_reason   stored as each job's error
--
--   select * from plait.cancel_tree(:'job');
--
-- Returns how many jobs were canceled and how many were asked to stop. o_left is the number of jobs
-- whose rows other transactions hold. Call it again until o_left is 0.
--
-- It repeatedly lists the live jobs that were not asked to stop yet, until there are none. A job
-- that fans out locks its own row, and it cannot fan out after it was asked to stop. So when its
-- row is locked here, either its children exist already or they will never be created.
create or replace function plait.cancel_tree(
  p_job uuid, p_tenant uuid default null, p_reason text default null, out o_canceled int,
  out o_asked int, out o_left int
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off set enable_hashjoin = off as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_root   uuid;
  v_jobs   uuid[];
  v_seen   int;
  c        record;
begin
  perform plait._require_read_committed();
  select coalesce(root_id, id) into v_root
  from plait.jobs
  where id = p_job and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  o_canceled := 0; o_asked := 0;
  loop
    with recursive below as (
      select f.id from plait.fan_outs f where f.parent_id = p_job
      union all
      select f.id
      from below b
      join plait.jobs j on j.root_id = v_root and j.fan_out_id = b.id
      join plait.fan_outs f on f.parent_id = j.id
    )
    select array_agg(s.job_id) into v_jobs
    from (
      select l.job_id
      from plait.live l
      where l.job_id = p_job and l.cancel_requested is null and l.cancel_by is null
      union all
      select l.job_id
      from below b
      join plait.live l on l.root_id = v_root and l.fan_out_id = b.id
      where l.cancel_requested is null and l.cancel_by is null
    ) s;
    o_left := coalesce(cardinality(v_jobs), 0);
    exit when o_left = 0;
    c := plait._cancel_rows(plait.now(), v_jobs, 'canceled', p_reason);
    v_seen := coalesce(cardinality(c.o_canceled), 0) + c.o_asked;
    o_canceled := o_canceled + coalesce(cardinality(c.o_canceled), 0);
    o_asked := o_asked + c.o_asked;
    exit when v_seen = 0;
  end loop;
end $$;
