-- gather_nodes: the results of the parts of a decided node job, for the leader's action.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.nodes.gather_nodes
--
-- Every call returns the same rows, because late parts are returned without an outcome.
create or replace function plait.gather_nodes(p_job uuid)
returns table (
  node text, job_id uuid, definition text, status text, attempt int, late boolean, result text,
  error text, finished_at timestamptz, rule text, decided_at timestamptz, total int, needed int)
language sql stable security definer set search_path = plait, pg_temp as $$
  select n.node, n.job_id, n.definition, case when not n.late then n.status end,
         case when not n.late then n.attempt else 0 end, n.late,
         case when not n.late then n.result end, case when not n.late then n.error end,
         case when not n.late then n.finished_at end, n.rule, n.decided_at, n.total, n.needed
  from plait._job_nodes(p_job) n
$$;
