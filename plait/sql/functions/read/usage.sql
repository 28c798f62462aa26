-- usage: a tenant's usage and limits.
--
--   moves    nothing
--   locks    nothing
--   raises   PL003 no such tenant, PL004 for a caller that may not read it
--   called   plait.store.connectors.usage, users
--
--   select o_live, o_max_queued from plait.usage();
create or replace function plait.usage(
  p_tenant uuid default null, out o_now timestamptz, out o_slug text, out o_name text,
  out o_live bigint, out o_running bigint, out o_max_queued int, out o_max_running int,
  out o_weight int, out o_triggers bigint, out o_max_triggers int, out o_endpoints bigint
)
language plpgsql volatile security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  t        plait.tenants;
begin
  select * into t from plait.tenants where id = v_tenant;
  if not found then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  o_now := plait.now();
  o_slug := t.slug;
  o_name := t.name;
  o_max_queued := t.max_queued;
  o_max_running := t.max_running;
  o_weight := t.weight;
  o_max_triggers := t.max_triggers;
  select coalesce(sum(c.jobs), 0), coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)
  into o_live, o_running
  from plait._live_counts(v_tenant) c;
  select count(*) into o_triggers
  from plait.triggers
  where tenant_id = v_tenant and deleted_at is null;
  select count(*) into o_endpoints from plait.endpoints where tenant_id = v_tenant;
end $$;
