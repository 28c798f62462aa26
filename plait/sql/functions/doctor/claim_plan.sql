-- claim_plan: how the server would plan a claim now.
--
--   moves    nothing
--   locks    nothing: the claim is planned but not run
--   raises   nothing
--   called   plait.store.health.claim_plan
--
-- Plans the statement of _claim_lane with the same settings. A claim that does not use the index
-- live_claim reads every queued row.
create or replace function plait.claim_plan() returns setof text
language plpgsql security definer set search_path = plait, pg_temp
set enable_seqscan = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_tenants     uuid[] := array['00000000-0000-7000-8000-000000000000'::uuid];
  v_definitions text[] := '{a,b}';
  v_queue       text := 'default';
  r             record;
begin
  for r in explain
    select y.* from unnest(v_tenants, array[10]) u(tenant_id, share)
    cross join lateral (
      select l.ctid, l.job_id, l.attempt, l.failed_attempts, l.max_attempts, l.tenant_id, l.priority
      from plait.live l
      where l.state = 'queued' and l.queue = v_queue and l.lane = '' and l.tenant_id = u.tenant_id
        and l.definition = any(v_definitions)
      order by l.priority, l.run_at, l.job_id limit u.share for update skip locked) y loop
    return next r."QUERY PLAN";
  end loop;
end $$;
