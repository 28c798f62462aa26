-- rotate_endpoint: give an endpoint a new signing key. Returns the key's version.
--
--   moves    nothing
--   locks    the endpoint's row
--   raises   PL008 when the caller has no such endpoint, PL012 for an overlap that is negative or
--            longer than 30 days
--   called   plait.store.endpoints.rotate_endpoint, users
--
--   p_endpoint   id of the endpoint
--   p_overlap    how long requests are also signed with the old key, at most 30 days
--
--   select plait.rotate_endpoint(:'endpoint', p_overlap => '1 hour');
create or replace function plait.rotate_endpoint(
  p_endpoint uuid, p_tenant uuid default null, p_overlap interval default '1 day'
) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant  uuid := plait._tenant(p_tenant);
  v_now     timestamptz := plait.now();
  v_version int;
begin
  if p_overlap is null or p_overlap not between interval '0' and interval '30 days' then
    raise exception 'the overlap must be between 0 and 30 days, got %', p_overlap
      using errcode = 'PL012';
  end if;
  update plait.endpoints set
    key_version = key_version + 1, old_key_until = v_now + p_overlap, updated_at = v_now
  where id = p_endpoint and tenant_id = v_tenant
  returning key_version into v_version;
  if not found then
    raise exception 'there is no endpoint %', p_endpoint using errcode = 'PL008';
  end if;
  return v_version;
end $$;
