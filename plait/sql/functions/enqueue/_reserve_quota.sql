-- _reserve_quota: check a tenant's quota before jobs are inserted; deduct it afterwards (p_made).
--
--   moves    nothing
--   locks    the tenant's row, waiting at most p_wait_ms
--   raises   PL005 if the quota is exhausted, PL016 if the row stays locked, with the tenant's id
--            as detail; lock_not_available (55P03) for a caller whose lock_timeout is below a
--            second: plait's own duties and workers, which retry
--   called   enqueue_many, fork, open_fan_out, _open_nodes, _retry, _spawn
--
-- quota_left is a lower bound on the remaining quota, because jobs that end only add to it. So jobs
-- are counted only when the bound runs out, and the count is exact under the lock. The quota is
-- deducted after the insert because only then is it known which jobs are new.
create or replace function plait._reserve_quota(
  p_tenant uuid, p_count int, p_made boolean default false, p_wait_ms int default 2000
) returns void
language plpgsql as $$
declare
  v_tenant plait.tenants;
  v_left   int;
  v_was    text := plait._limit_lock_waits(p_wait_ms);
begin
  begin
    select * into v_tenant from plait.tenants where id = p_tenant for no key update;
  exception when lock_not_available then
    if v_was ~ '^\d{1,3}ms$' then
      raise;
    end if;
    raise exception 'another open transaction holds this tenant''s quota: commit or roll it back, then enqueue again'
      using errcode = 'PL016', detail = p_tenant::text;
  end;
  perform set_config('lock_timeout', v_was, true);
  if v_tenant.max_queued is null then
    return;
  end if;

  v_left := coalesce(v_tenant.quota_left, -1) - p_count;
  if v_left < 0 then
    v_left := v_tenant.max_queued - case when p_made then 0 else p_count end
              - (select count(*) from plait.live where tenant_id = p_tenant and metered);
    if v_left < 0 then
      raise exception 'quota exceeded: tenant % may have at most % unfinished jobs, and % more would exceed this limit',
        v_tenant.slug, v_tenant.max_queued, p_count using errcode = 'PL005';
    end if;
  end if;
  if p_made then
    update plait.tenants set quota_left = v_left where id = p_tenant;
  end if;
end $$;
