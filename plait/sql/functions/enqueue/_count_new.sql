-- _count_new: how many of these jobs are new: not stored yet, and no older job holds their key.
--
--   moves    nothing
--   locks    nothing: the caller holds the tenant's row, so no other transaction adds jobs
--            meanwhile
--   raises   nothing
--   called   enqueue_many
--
-- Called for tenants with a quota.
create or replace function plait._count_new(
  p_tenant uuid, p_now timestamptz, p_ids uuid[], p_tenants uuid[], p_definitions text[],
  p_dedupe_keys text[], p_idempotency_keys text[]
) returns int
language sql stable as $$
  select count(distinct coalesce(
                 'dedupe ' || i.dedupe_key,
                 'idempotency ' || i.definition || ' ' || i.idempotency_key, i.id::text))::int
  from unnest(p_ids, p_tenants, p_definitions, p_dedupe_keys, p_idempotency_keys)
       i(id, tenant_id, definition, dedupe_key, idempotency_key)
  where coalesce(i.tenant_id, p_tenant) = p_tenant
    and not exists (select from plait.jobs j where j.id = i.id)
    and not exists (select from plait.dedupe d
                    where d.tenant_id = p_tenant and d.key = i.dedupe_key)
    and not exists (select from plait.idempotency k
                    where k.tenant_id = p_tenant and k.definition = i.definition
                      and k.key = i.idempotency_key
                      and (k.expires_at is null or k.expires_at > p_now)) $$;
