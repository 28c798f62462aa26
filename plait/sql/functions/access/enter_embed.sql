-- enter_embed: exchange a link to an embedded view for its session, once.
--
--   moves    nothing
--   locks    the link's row: only one of two concurrent calls succeeds
--   raises   nothing
--   called   plait.store.keys.enter_embed
--
-- Returns when the session expires, or null if the link is unknown, used or expired. A link is
-- valid for five minutes; the session's expiry was set when the link was created.
create or replace function plait.enter_embed(p_link text, p_hash text) returns timestamptz
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now  timestamptz := plait.now();
  v_ends timestamptz;
begin
  update plait.sessions s set hash = p_hash, link = false
  where s.hash = p_link and s.link and s.role is not null and s.expires_at > v_now
    and s.created_at > v_now - interval '5 minutes'
  returning s.expires_at into v_ends;
  return v_ends;
end $$;
