-- _serial_holder: the root of the workflow that holds a serial queue; null: the queue is free.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _claim_serial, explain_job, list_queues, _serial_deadlocks
--
-- The holder is the first started workflow that still has a live job. More than one workflow can be
-- started only if the queue was parallel before.
create or replace function plait._serial_holder(p_queue text) returns uuid
language plpgsql volatile as $$
begin
  return (
    select r.root
    from plait.queues q
    cross join unnest(q.roots) with ordinality r(root, n)
    where q.name = p_queue and q.serial
      and (exists (select from plait.live l where l.job_id = r.root)
           or exists (select from plait.live l where l.root_id = r.root))
    order by r.n limit 1);
end $$;
