-- open_session: open a browser session for a key, or create a single-use login link.
--
--   moves    nothing
--   locks    up to 100 expired sessions SKIP LOCKED, to delete them
--   raises   PL012 for an invalid time to live
--   called   open_embed, plait.store.keys.open_session
create or replace function plait.open_session(
  p_key uuid, p_hash text, p_csrf text, p_ttl interval, p_link boolean default false
) returns timestamptz
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_now timestamptz := plait.now();
begin
  if p_ttl is null or p_ttl <= interval '0' or p_ttl > interval '31 days' then
    raise exception 'the time to live of a session must be more than 0 and at most 31 days, got %',
      p_ttl using errcode = 'PL012';
  end if;
  delete from plait.sessions
  where hash in (select s.hash
                 from plait.sessions s
                 where s.expires_at <= v_now limit 100 for update skip locked);
  insert into plait.sessions (hash, key_id, link, csrf, created_at, expires_at)
  values (p_hash, p_key, p_link, p_csrf, v_now, v_now + p_ttl);
  return v_now + p_ttl;
end $$;
