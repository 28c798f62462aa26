-- set_endpoint: create or change a webhook endpoint, by its label; absent settings do not change.
--
--   moves    nothing
--   locks    the tenant's endpoints, with _lock_tenant
--   raises   PL012 for an invalid or unknown setting, PL003 no such tenant, PL005 too many
--            endpoints, PL014 if it was changed after p_unchanged_since, or exists and p_new is
--            set, PL016 if another open transaction changes the tenant's endpoints
--   called   plait.store.endpoints.set_endpoint, users
--
--   p_label      the endpoint's name within its tenant, 1 to 200 characters
--   p_settings   a JSON object: `url`, `enabled`, `signature` (`standard`, `sha256` or `sha512`),
--                `statuses` (final statuses that are delivered), `definitions` (default: all),
--                `created_by`
--
--   select plait.set_endpoint('crm',
--     '{"url": "https://crm.example/hook", "statuses": ["failed", "dead_letter"]}');
--
-- A changed subscription applies to later outcomes only.
create or replace function plait.set_endpoint(
  p_label text, p_settings json, p_tenant uuid default null,
  p_unchanged_since timestamptz default null, p_new boolean default false
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  v_now    timestamptz := plait.now();
  v_bad    text;
  v_there  boolean;
  o        plait.endpoints;
  r        plait.endpoints;
begin
  perform plait._require_read_committed();
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  select min(k) into v_bad from json_object_keys(p_settings) k
    where k not in ('url', 'enabled', 'signature', 'statuses', 'definitions', 'created_by');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  perform plait._lock_tenant(v_tenant, 'endpoints');
  select * into o from plait.endpoints where tenant_id = v_tenant and label = p_label;
  v_there := found;
  if v_there and (p_new or o.updated_at <> p_unchanged_since) then
    raise exception '%',
      case when p_new then 'an endpoint with this label already exists'
           else 'the endpoint was changed in the meantime: read it again' end
      using errcode = 'PL014';
  end if;
  if v_there then
    r := o;
  else
    if (select count(*) from plait.endpoints where tenant_id = v_tenant) >= 100 then
      raise exception 'quota exceeded: a tenant may have at most 100 endpoints'
        using errcode = 'PL005';
    end if;
    r.id := plait.uuidv7(); r.tenant_id := v_tenant; r.label := p_label; r.created_at := v_now;
    r.created_by := session_user;
    r.key_version := 1; r.enabled := true; r.signature := 'standard'; r.statuses := '{}';
  end if;
  r := json_populate_record(r, p_settings);
  r.updated_at := v_now;
  r.disabled_at := case when r.enabled then null else coalesce(o.disabled_at, v_now) end;
  r.disabled_reason :=
    case when r.enabled then null else coalesce(o.disabled_reason, 'by hand') end;
  if r.enabled and cardinality(r.statuses) > 0 then
    if o.subscribed_at is null
       or (r.statuses, r.definitions) is distinct from (o.statuses, o.definitions) then
      r.subscribed_at := v_now;
    end if;
  else
    r.subscribed_at := null;
  end if;
  if v_there then
    update plait.endpoints set
      updated_at = r.updated_at, subscribed_at = r.subscribed_at, disabled_at = r.disabled_at,
      enabled = r.enabled, url = r.url, signature = r.signature,
      disabled_reason = r.disabled_reason, created_by = r.created_by, statuses = r.statuses,
      definitions = r.definitions
    where id = r.id;
  else
    insert into plait.endpoints select r.*;
  end if;
  return r.id;
exception when check_violation then
  get stacked diagnostics v_bad = constraint_name;
  raise exception 'invalid endpoint: %',
    case v_bad
      when 'endpoints_label_check' then 'a label must have 1 to 200 printable characters'
      when 'endpoints_url_check' then
        'url must begin with https:// or http://, have no spaces and at most 2,000 characters'
      when 'endpoints_signature_check' then 'signature must be standard, sha256 or sha512'
      when 'endpoints_statuses' then
        'each status must be succeeded, failed, dead_letter, canceled or skipped'
      when 'endpoints_definitions' then 'definitions must be 1 to 100 names, or absent'
      else sqlerrm end using errcode = 'PL012';
when integrity_constraint_violation or data_exception then
  raise exception 'invalid endpoint: %', sqlerrm using errcode = 'PL012';
end $$;
