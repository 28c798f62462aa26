-- define_unknown: register definitions that an HTTP worker names and that do not exist yet.
--
--   moves    nothing
--   locks    the key's row; the same as define
--   raises   PL005 if the key would exceed p_most definitions, PL008 no such key; the same as
--            define
--   called   plait.store.definitions.define_unknown
--
-- New definitions get the default settings. Definitions are shared by all tenants and never
-- deleted, so the number that one API key may create is limited.
create or replace function plait.define_unknown(p_key uuid, p_names text[], p_most int default 500)
returns int language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_made  int;
  v_names text[];
begin
  perform plait._require_read_committed();
  select definitions into v_made from plait.keys where id = p_key for no key update;
  if not found then
    raise exception 'there is no key %', p_key using errcode = 'PL008';
  end if;
  v_names := array(select distinct n
                   from unnest(p_names) n
                   where not exists (select from plait.definitions d where d.name = n)
                   order by 1);
  if cardinality(v_names) = 0 then
    return 0;
  end if;
  if v_made + cardinality(v_names) > p_most then
    raise exception 'a worker''s API key may create at most % definitions; this key has created % and requests % more: use existing names, or have an administrator create them',
      p_most, v_made, cardinality(v_names) using errcode = 'PL005';
  end if;
  update plait.keys set definitions = definitions + cardinality(v_names) where id = p_key;
  return plait.define((select json_agg(json_build_object('name', n)) from unnest(v_names) n));
end $$;
