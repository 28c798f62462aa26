-- authenticate_embed: the embedded view with this hash; no row if it is unknown or no longer valid.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.keys.authenticate_embed
create or replace function plait.authenticate_embed(p_hash text)
returns table (key_id uuid, tenant_id uuid, tenant text, role text, name text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select k.id, k.tenant_id, t.slug::text, s.role, k.name
  from plait.sessions s
  join plait.keys k on k.id = s.key_id
  join plait.tenants t on t.id = k.tenant_id
  where s.hash = p_hash and not s.link and s.role is not null and s.expires_at > plait.now()
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > plait.now())
$$;
