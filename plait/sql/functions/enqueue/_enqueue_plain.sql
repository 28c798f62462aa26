-- _enqueue_plain: insert jobs of one definition, tenant and queue, without keys, that may run now.
--
--   moves    nothing -> queued
--   locks    nothing
--   raises   23505 if an id exists already
--   called   _announce, enqueue_many
--
-- Costs half as much as the general statement: no joins, no expressions per row, fewer columns.
create or replace function plait._enqueue_plain(
  p_now timestamptz, p_ids uuid[], p_payloads json[], p_tenant uuid, p_definition text,
  p_queue text, p_priority int, p_max_attempts int, p_source text, p_lane text
) returns void
language plpgsql as $$
begin
  insert into plait.jobs (
    id, tenant_id, created_at, priority, max_attempts, definition, queue, source, payload)
  select i.id, p_tenant, p_now, p_priority, p_max_attempts, p_definition, p_queue, p_source,
         i.payload
  from unnest(p_ids, p_payloads) i(id, payload);
  insert into plait.live (
    job_id, tenant_id, run_at, priority, max_attempts, state, metered, queue, lane, definition)
  select i, p_tenant, p_now, p_priority, p_max_attempts, 'queued', false, p_queue, p_lane,
         p_definition
  from unnest(p_ids) i;
end $$;
