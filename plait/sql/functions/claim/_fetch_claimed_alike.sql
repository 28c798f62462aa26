-- _fetch_claimed_alike: as _fetch_claimed, for jobs with equal attempt numbers: no join is needed.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   cycle
create or replace function plait._fetch_claimed_alike(p_jobs uuid[])
returns table (
  o_jobs uuid[], o_tenants uuid[], o_definitions text[], o_queues text[], o_payloads text[],
  o_timeouts float8[], o_correlations text[]
) language sql stable rows 1 as $$
  select array_agg(s.id), array_agg(s.tenant_id), array_agg(s.definition),
         case when min(s.queue) < max(s.queue) then array_agg(s.queue) else array[min(s.queue)] end,
         array_agg(s.payload::text),
         case when count(s.timeout_s) > 0 then array_agg(s.timeout_s) end,
         case when count(s.correlation_id) > 0 then array_agg(s.correlation_id) end
  from (select j.id, j.tenant_id, j.definition, j.queue, j.payload,
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
        from plait.jobs j
        where j.id = any(p_jobs)
        order by j.priority, j.id) s $$;
