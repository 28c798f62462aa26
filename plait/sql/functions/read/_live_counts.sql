-- _live_counts: live jobs by tenant, queue and state: exact if few, else the leader's last counts.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   list_queues, list_tenants, metrics, overview, tenant_load, usage
--
-- If the leader's counts are more than a minute old (no leader runs), the rows are counted here,
-- however long that takes: a slow answer is better than a wrong one.
create or replace function plait._live_counts(p_tenant uuid)
returns table (
  tenant_id uuid, queue text, state plait.status, jobs bigint, oldest timestamptz, at timestamptz)
language plpgsql stable as $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  if pg_relation_size('plait.live') > 8388608
     and exists (select from plait.depths d
                 where d.at > v_now - interval '1 minute'
                   and d.at <= v_now + interval '1 minute') then
    return query
      select d.tenant_id, d.queue::text, d.state, d.jobs, d.oldest, d.at
      from plait.depths d
      where p_tenant is null or d.tenant_id = p_tenant;
  else
    return query
      select l.tenant_id, l.queue::text, l.state, count(*), min(l.run_at), v_now
      from plait.live l
      where p_tenant is null or l.tenant_id = p_tenant
      group by 1, 2, 3;
  end if;
end $$;
