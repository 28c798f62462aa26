-- _tenant: the tenant that a call acts for.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 when a bound login names another tenant, PL003 when the setting is not a
--            tenant's id
--   called   by more than a dozen functions
--
-- A bound login acts for its own tenant. A trusted role names a tenant or sets plait.tenant;
-- otherwise the default tenant applies. Every verb that a client calls begins with this function.
create or replace function plait._tenant(p_tenant uuid) returns uuid
language plpgsql stable as $$
declare
  v_tenant  uuid := plait._bound_tenant();
  v_setting text;
begin
  if v_tenant is not null then
    if p_tenant <> v_tenant then
      raise exception 'this login may only act for its own tenant' using errcode = 'PL004';
    end if;
    return v_tenant;
  end if;
  if p_tenant is not null then
    return p_tenant;
  end if;
  v_setting := current_setting('plait.tenant', true);
  if coalesce(v_setting, '') = '' then
    return '00000000-0000-7000-8000-000000000000';
  end if;
  if v_setting !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    raise exception 'the setting plait.tenant must be the id of a tenant' using errcode = 'PL003';
  end if;
  return v_setting::uuid;
end $$;
