-- close_session: delete a browser session, to sign out.
--
--   moves    nothing
--   locks    the session's row
--   raises   nothing
--   called   plait.store.keys.close_session
create or replace function plait.close_session(p_hash text) returns void
language sql security definer set search_path = plait, pg_temp as $$
  delete from plait.sessions where hash = p_hash
$$;
