-- _job_nodes: the nodes of a node job and their outcomes; after a retry, the latest set.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   gather_nodes, job_nodes
--
-- A fork has the nodes of its source job. late: the part had not ended when the job was decided, so
-- its outcome did not count.
create or replace function plait._job_nodes(p_job uuid)
returns table (
  node text, job_id uuid, definition text, status text, attempt int, late boolean, result text,
  error text, finished_at timestamptz, rule text, decided_at timestamptz, total int, needed int)
language sql stable set enable_seqscan = off as $$
  select j.node, j.id, j.definition, coalesce(l.state, a.final)::text,
         plait._attempts_used(j.id, l.attempt, a.last),
         coalesce(j.fan_out_index = any(f.left_open), false),
         case when l.job_id is null then a.result::text end,
         coalesce(a.error, case when a.final is not null then a.reason end),
         case when l.job_id is null then a.finished_at end, f.rule, f.decided_at, f.total, f.needed
  from (select f.*
        from plait.fan_outs f
        where f.id = coalesce((select s.fan_out_id
                               from plait.steps s
                               where s.job_id = p_job and s.name = 'nodes' and s.occurrence = 1),
                              (select o.id
                               from plait.fan_outs o
                               where o.parent_id = p_job and o.on_timeout is not null
                               order by o.id desc limit 1))
          and f.on_timeout is not null) f
  join plait.jobs j on j.root_id = f.root_id and j.fan_out_id = f.id
  left join plait.live l on l.job_id = j.id
  left join lateral (select t.*, t as last
                     from plait.attempts t
                     where t.job_id = j.id
                     order by t.attempt desc limit 1) a on true
  order by j.node
$$;
