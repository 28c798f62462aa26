-- enter_embed: a link to an embedded view becomes its session, once. Null: there is no such link, or not any more.
--
--   moves    nothing
--   locks    the link's row: of two that follow it at once, one gets in
--   raises   nothing
--   called   plait.store.keys.enter_embed
--
-- A link is good for five minutes; the session ends when it was said to when the link was made.
create or replace function plait.enter_embed(p_link text, p_hash text) returns timestamptz
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now  timestamptz := plait.now();
  v_ends timestamptz;
begin
  update plait.sessions s set hash = p_hash, link = false
    where s.hash = p_link and s.link and s.role is not null and s.expires_at > v_now and s.created_at > v_now - interval '5 minutes'
    returning s.expires_at into v_ends;
  return v_ends;
end $$;
