-- open_embed: create a single-use link that embeds a tenant's view in another site.
--
--   moves    nothing
--   locks    nothing
--   raises   PL012 for an invalid time to live, or a role other than viewer and operator
--   called   plait.store.keys.open_embed
create or replace function plait.open_embed(p_key uuid, p_hash text, p_role text, p_ttl interval)
returns timestamptz language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_ends timestamptz := plait.open_session(p_key, p_hash, '', p_ttl, true);
begin
  update plait.sessions set role = p_role where hash = p_hash;
  return v_ends;
exception when check_violation then
  raise exception 'embed role must be viewer or operator, got %', quote_literal(p_role)
    using errcode = 'PL012';
end $$;
