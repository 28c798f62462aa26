-- delete_endpoint: delete a webhook endpoint. Its pending deliveries fail permanently.
--
--   moves    nothing
--   locks    the endpoint's row
--   raises   PL008 when the caller has no such endpoint
--   called   plait.store.endpoints.delete_endpoint, users
--
--   p_endpoint   id of the endpoint
--
--   select plait.delete_endpoint(:'endpoint');
create or replace function plait.delete_endpoint(p_endpoint uuid, p_tenant uuid default null)
returns void language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid := plait._tenant(p_tenant);
begin
  delete from plait.endpoints where id = p_endpoint and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no endpoint %', p_endpoint using errcode = 'PL008';
  end if;
end $$;
