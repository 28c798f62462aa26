-- set_tenant: create or change a tenant. Returns its id.
--
--   moves    nothing
--   locks    the tenant's row; the rows of its schedules, if its time zone changes; if it gets a
--            quota, its live rows SKIP LOCKED: jobs whose state changes at that moment are not
--            counted, and no call waits
--   raises   PL012 for an invalid or unknown setting; PL015 with p_new, if it exists
--   called   plait.store.tenants.set_tenant, users
--
--   p_slug       1 to 63 characters from a-z, 0-9, _ and -; must begin with a letter or digit
--   p_settings   a JSON object: `name`, `time_zone`, `paused`, `paused_by`, `pause_reason`,
--                `weight`, `max_running`, `max_queued`, `max_triggers`, `retention` (seconds by
--                final status; null: forever)
--
--   select plait.set_tenant('acme', '{"weight": 2, "max_running": 50}');
--
-- Absent settings do not change; null removes a limit.
create or replace function plait.set_tenant(
  p_slug text, p_settings json default '{}', p_new boolean default false
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  r      plait.tenants;
  v_bad  text;
  v_was  int;
  v_zone text;
  v_paused boolean;
begin
  perform plait._require_read_committed();
  if p_slug is null or p_slug !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
    raise exception 'a tenant slug must be 1 to 63 characters from a-z, 0-9, _ and -, and begin with a letter or digit'
      using errcode = 'PL012';
  end if;
  if p_slug ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    raise exception 'a tenant slug must not look like an id' using errcode = 'PL012';
  end if;
  select min(k) into v_bad
  from json_object_keys(p_settings) k
  where k not in ('name', 'time_zone', 'paused', 'paused_by', 'pause_reason', 'weight',
                  'max_running', 'max_queued', 'max_triggers', 'retention');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  insert into plait.tenants (id, slug, name)
  values (plait.uuidv7(), p_slug, p_slug)
  on conflict (slug) do nothing;
  if p_new and not found then
    raise exception 'tenant % already exists', quote_literal(p_slug) using errcode = 'PL015';
  end if;
  select * into r from plait.tenants where slug = p_slug for no key update;
  v_was := r.max_queued;
  v_zone := r.time_zone;
  v_paused := r.paused;
  r := json_populate_record(r, p_settings);
  if not r.paused then
    r.paused_at := null;
    r.paused_by := null;
    r.pause_reason := null;
  elsif not v_paused then
    r.paused_at := plait.now();
  end if;
  -- Look the name up, because Postgres itself also accepts offsets and invalid names like FOO5.
  if r.time_zone <> v_zone
     and not exists (
       -- clock: only the zone's name is read
       select from pg_timezone_names
       where name = r.time_zone and name !~ '^(posix|right)/|^(posixrules|localtime|Factory)$') then
    raise exception 'there is no time zone %', quote_literal(r.time_zone) using errcode = 'PL012';
  end if;
  if exists (select from jsonb_each(r.retention) e
             where e.key not in ('succeeded', 'skipped', 'canceled', 'failed', 'dead_letter')
               or e.value <> 'null'
                  and (jsonb_typeof(e.value) <> 'number'
                       or e.value::float8 not between 0 and 3.2e9)) then
    raise exception 'retention must be an object with the number of seconds for each final status, or null to keep jobs forever'
      using errcode = 'PL012';
  end if;
  update plait.tenants set
    retention = r.retention, name = r.name, time_zone = r.time_zone, paused = r.paused,
    weight = r.weight, max_running = r.max_running, max_queued = r.max_queued,
    max_triggers = r.max_triggers, quota_left = null, paused_at = r.paused_at,
    paused_by = r.paused_by, pause_reason = r.pause_reason
  where id = r.id;
  if r.time_zone <> v_zone then   -- schedules without their own time zone use the new one from now
    update plait.triggers set
      cursor_at = plait.now(), next_at = null, error = null, revision = revision + 1
    where tenant_id = r.id and kind = 'schedule' and time_zone is null and deleted_at is null;
  end if;
  if r.max_queued is not null and v_was is null then
    update plait.live set metered = true
    where job_id in (
      -- these jobs count against the quota from now on
      select job_id
      from plait.live
      where tenant_id = r.id and not metered
      order by job_id for no key update skip locked);
  end if;
  return r.id;
exception when integrity_constraint_violation or data_exception then
  raise exception 'invalid setting: %', sqlerrm using errcode = 'PL012';
end $$;
