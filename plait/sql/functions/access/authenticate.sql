-- authenticate: the API key or session with this hash; no row if unknown, revoked or expired.
--
--   moves    nothing
--   locks    the key's row SKIP LOCKED, at most once a minute, to store when the key was last used
--   raises   nothing
--   called   plait.store.keys.authenticate
create or replace function plait.authenticate(p_hash text, p_session boolean default false)
returns table (key_id uuid, tenant_id uuid, tenant text, role text, name text, csrf text)
language plpgsql security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz := plait.now();
  v_key uuid;
  v_csrf text;
begin
  if p_session then
    select s.key_id, s.csrf into v_key, v_csrf
    from plait.sessions s
    where s.hash = p_hash and not s.link and s.role is null and s.expires_at > v_now;
  else
    select k.id into v_key from plait.keys k where k.hash = p_hash;
  end if;
  return query
    select k.id, k.tenant_id, t.slug::text, k.role, k.name, v_csrf
    from plait.keys k
    left join plait.tenants t on t.id = k.tenant_id
    where k.id = v_key and k.revoked_at is null and (k.expires_at is null or k.expires_at > v_now);
  if found then
    update plait.keys set last_used_at = v_now
    where id in (
      select k.id
      from plait.keys k
      where k.id = v_key
        and (k.last_used_at is null or k.last_used_at < v_now - interval '1 minute')
      for no key update skip locked);
  end if;
end $$;
