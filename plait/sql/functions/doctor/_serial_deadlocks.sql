-- _serial_deadlocks: pairs of workflows that wait for each other's serial queue.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   explain_job, findings
--
-- `waits` is the workflow that has queued jobs in `queue`, and `has` is the workflow that holds
-- that queue. Each workflow of a pair has a row, and neither can continue.
create or replace function plait._serial_deadlocks()
returns table (waits uuid, queue text, has uuid) language sql volatile as $$
  with held as materialized (
    select q.name, plait._serial_holder(q.name) as root from plait.queues q where q.serial
  ), w as (
    select distinct a.root as waits, b.name as queue, b.root as has
    from held a
    join held b on b.root <> a.root
    where exists (select from plait.live l
                  where l.root_id = a.root and l.state = 'queued' and l.queue = b.name)
      or exists (select from plait.live l
                 where l.job_id = a.root and l.state = 'queued' and l.queue = b.name)
  )
  select w.waits, w.queue, w.has
  from w
  where exists (select from w o where o.waits = w.has and o.has = w.waits) $$;
