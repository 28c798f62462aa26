-- use_login_link: use a login link once; returns its key, or null if unknown, used or expired.
--
--   moves    nothing
--   locks    the link's row: only one of two concurrent calls succeeds
--   raises   nothing
--   called   plait.store.keys.use_login_link
create or replace function plait.use_login_link(p_hash text) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_key uuid;
begin
  delete from plait.sessions s using plait.keys k
  where s.hash = p_hash and s.link and s.role is null and s.expires_at > plait.now()
    and k.id = s.key_id and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > plait.now())
  returning s.key_id into v_key;
  return v_key;
end $$;
