-- _fetch_claimed: the data that a worker needs to run the jobs it has just claimed, in start order.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   cycle
--
-- The timeout is the job's own, or an operator's override for its definition. The worker knows the
-- timeout that is set in code. Timeouts and correlation ids are null if no job of the batch has
-- one. A queue that all jobs share is returned once.
-- Returns one row, but is declared as a table function so that it is inlined into the caller's
-- statement. Without the condition `= any`, which repeats the join, a cached plan may read the
-- whole table for a batch.
create or replace function plait._fetch_claimed(
  p_jobs uuid[], p_attempts int[], p_failed_attempts smallint[], p_max smallint[]
) returns table (
  o_jobs uuid[], o_attempts int[], o_failed_attempts smallint[], o_max smallint[], o_tenants uuid[],
  o_definitions text[], o_queues text[], o_payloads text[], o_timeouts float8[],
  o_correlations text[]
) language sql stable rows 1 as $$
  select array_agg(s.id), array_agg(s.attempt), array_agg(s.failed_attempts), array_agg(s.max),
         array_agg(s.tenant_id), array_agg(s.definition),
         case when min(s.queue) < max(s.queue) then array_agg(s.queue) else array[min(s.queue)] end,
         array_agg(s.payload::text),
         case when count(s.timeout_s) > 0 then array_agg(s.timeout_s) end,
         case when count(s.correlation_id) > 0 then array_agg(s.correlation_id) end
  from (
    select j.id, x.attempt, x.failed_attempts, x.max, j.tenant_id, j.definition, j.queue, j.payload,
           case when (select exists (select from plait.deadlines where due_at is not null)) then
                  plait._time_left(
                    j.id, j.definition,
                    (case when j.timeout_s is null
                               and (select exists (select from plait.overrides o
                                                   where o.setting = 'timeout_s')) then
                            (select o.value::float8
                             from plait.overrides o
                             where o.definition = j.definition and o.setting = 'timeout_s')
                          else j.timeout_s end))
                else (case when j.timeout_s is null
                                and (select exists (select from plait.overrides o
                                                    where o.setting = 'timeout_s')) then
                             (select o.value::float8
                              from plait.overrides o
                              where o.definition = j.definition and o.setting = 'timeout_s')
                           else j.timeout_s end) end as timeout_s,
           j.correlation_id
    from unnest(p_jobs, p_attempts, p_failed_attempts, p_max) x(id, attempt, failed_attempts, max)
    join plait.jobs j on j.id = x.id
    where j.id = any(p_jobs)
    order by j.priority, j.id) s $$;
