-- revoke_key: revoke an API key, and the sessions that were opened with it.
--
--   moves    nothing
--   locks    the key's row; with p_descendants also the rows of keys created with it, in id order
--   raises   PL008 if the caller has no such key
--   called   plait.store.keys.revoke_key, users
--
--   p_key           id of the key
--   p_descendants   also revoke the keys that were created with it
--
--   select plait.revoke_key(:'key');
create or replace function plait.revoke_key(
  p_key uuid, p_tenant uuid default null, p_all boolean default false,
  p_descendants boolean default false
) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  update plait.keys set revoked_at = coalesce(revoked_at, plait.now())
  where id = p_key and (v_tenant is null or tenant_id = v_tenant);
  if not found then
    raise exception 'there is no key %', p_key using errcode = 'PL008';
  end if;
  delete from plait.sessions where key_id = p_key;
  if p_descendants then
    -- After the key itself, so that a concurrent create_key waits for the key's row, finds the key
    -- revoked and fails.
    with gone as (
      update plait.keys k set revoked_at = plait.now()
      where k.revoked_at is null
        and k.id in (
          select d.id
          from plait.keys d
          where d.id in (select l.id from plait.list_key_descendants(p_key, p_tenant, p_all) l)
          order by d.id for update)
      returning k.id
    )
    delete from plait.sessions s using gone where s.key_id = gone.id;
  end if;
end $$;
