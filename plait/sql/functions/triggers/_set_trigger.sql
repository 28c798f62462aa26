-- _set_trigger: create or change a trigger, by tenant and label. Absent settings do not change.
--
--   moves    nothing
--   locks    the trigger's row; for a new trigger, the tenant's triggers, with _lock_tenant
--   raises   PL012 for an invalid or unknown setting, or a payload that can never match the
--            definition's schema, PL005 too many triggers, PL007 for an inactive definition, PL009
--            for a trigger that code declares, PL016 as _lock_tenant
--   called   declare_triggers, set_trigger
--
-- If a schedule is changed or resumed, earlier instants neither fire nor count as missed. If no
-- setting differs, nothing is written, so workers may declare their triggers at each start.
create or replace function plait._set_trigger(
  p_tenant uuid, p_label text, p_settings json, p_origin text
) returns uuid
language plpgsql as $$
declare
  v_now  timestamptz := plait.now();
  v_bad  text;
  v_new  boolean;
  o      plait.triggers;
  r      plait.triggers;
begin
  perform plait._require_read_committed();
  select min(k) into v_bad
  from json_object_keys(p_settings) k
  where k not in (
    'definition', 'event_name', 'cron', 'every_s', 'time_zone', 'payload', 'queue', 'priority',
    'max_attempts', 'timeout_s', 'correlation_id', 'dedupe_key', 'limit_key', 'dedupe_window_s',
    'catch_up', 'catch_up_window_s', 'overlap', 'jitter_s', 'enabled', 'created_by');
  if v_bad is not null then
    raise exception 'there is no setting %', quote_literal(v_bad) using errcode = 'PL012';
  end if;
  select * into o
  from plait.triggers
  where tenant_id = p_tenant and label = p_label and deleted_at is null for no key update;
  if not found then
    -- Needed because triggers are counted, and because two calls may create the same trigger.
    perform plait._lock_tenant(p_tenant, 'triggers');
    select * into o
    from plait.triggers
    where tenant_id = p_tenant and label = p_label and deleted_at is null for no key update;
  end if;
  v_new := not found;
  if v_new and p_origin <> 'code'
     and (select max_triggers from plait.tenants where id = p_tenant) <= (
       select count(*)
       from plait.triggers
       where tenant_id = p_tenant and deleted_at is null and origin <> 'code') then
    raise exception 'quota exceeded: this tenant may have at most % triggers',
      (select max_triggers from plait.tenants where id = p_tenant)
      using errcode = 'PL005';
  end if;
  if not v_new and o.origin = 'code' and p_origin <> 'code'
     and exists (select from json_object_keys(p_settings) k where k <> 'enabled') then
    raise exception 'trigger % is declared in code: change it there, or pause it',
      quote_literal(p_label) using errcode = 'PL009';
  end if;
  if v_new then
    r.id := plait.uuidv7();
    r.tenant_id := p_tenant; r.label := p_label; r.created_at := v_now; r.updated_at := v_now;
    r.anchor_at := v_now; r.cursor_at := v_now;
    r.fired := 0; r.missed := 0; r.skipped := 0; r.revision := 1; r.enabled := true;
    r.payload := '{}';
    r.jitter_s := 0; r.dedupe_window_s := 300; r.catch_up := 'one'; r.overlap := 'allow';
    r.created_by := session_user;
    r.origin := p_origin;
  else
    r := o;
  end if;
  r := json_populate_record(r, p_settings);
  r.origin := case when p_origin = 'code' then 'code' else r.origin end;
  r.kind := case when r.event_name is not null then 'event' else 'schedule' end;
  r.catch_up_window_s := case when r.catch_up = 'window' then r.catch_up_window_s end;
  if r.time_zone is not null and r.time_zone is distinct from o.time_zone
     and not exists (
       -- clock: only the zone's name is read
       select from pg_timezone_names
       where name = r.time_zone and name !~ '^(posix|right)/|^(posixrules|localtime|Factory)$') then
    raise exception 'there is no time zone %', quote_literal(r.time_zone) using errcode = 'PL012';
  end if;
  if r.enabled and r.definition is distinct from o.definition
     and exists (select from plait.definitions d where d.name = r.definition and not d.active) then
    raise exception 'definition % is inactive: it accepts no new triggers',
      quote_literal(r.definition) using errcode = 'PL007';
  end if;
  if not v_new and row_to_json(r)::text = row_to_json(o)::text then
    return r.id;
  end if;
  if (r.definition, r.payload::text) is distinct from (o.definition, o.payload::text) then
    select plait._template_fault(d.schema, r.payload::jsonb) into v_bad from plait.definitions d
      where d.name = r.definition and d.schema is not null;
    if v_bad is not null then
      raise exception 'the payload of trigger % can never match the schema of %: %',
        quote_literal(p_label), quote_literal(r.definition), v_bad
        using errcode = 'PL012';
    end if;
  end if;
  if v_new then
    insert into plait.triggers select r.*;
    return r.id;
  end if;
  if (r.cron, r.every_s, r.time_zone, r.event_name) is distinct from (
       o.cron, o.every_s, o.time_zone, o.event_name) then
    r.anchor_at := v_now; r.cursor_at := v_now; r.next_at := null; r.error := null;
  elsif r.enabled and not o.enabled then
    r.cursor_at := greatest(o.cursor_at, v_now); r.next_at := null; r.error := null;
  end if;
  update plait.triggers set
    updated_at = v_now, revision = o.revision + 1, anchor_at = r.anchor_at, cursor_at = r.cursor_at,
    next_at = r.next_at, error = r.error, every_s = r.every_s,
    catch_up_window_s = r.catch_up_window_s, jitter_s = r.jitter_s, timeout_s = r.timeout_s,
    dedupe_window_s = r.dedupe_window_s, priority = r.priority, max_attempts = r.max_attempts,
    enabled = r.enabled, kind = r.kind, origin = r.origin, catch_up = r.catch_up,
    overlap = r.overlap, definition = r.definition, event_name = r.event_name, cron = r.cron,
    time_zone = r.time_zone, queue = r.queue, correlation_id = r.correlation_id,
    dedupe_key = r.dedupe_key, limit_key = r.limit_key, created_by = r.created_by,
    payload = r.payload
  where id = r.id;
  return r.id;
exception when check_violation then
  get stacked diagnostics v_bad = constraint_name;
  raise exception 'invalid trigger: %',
    case v_bad
      when 'triggers_label_check' then 'a label must have 1 to 200 printable characters'
      when 'triggers_definition_check' then
        'a definition name must have 1 to 200 printable characters'
      when 'triggers_event_name_check' then
        'an event name must be 1 to 200 letters, digits and _ . : / -'
      when 'triggers_cron_check' then 'cron must have five fields: minute hour day month weekday'
      when 'triggers_every_s_check' then 'every must be between one second and ten years'
      when 'triggers_jitter_s_check' then 'jitter must be at most one day'
      when 'triggers_dedupe_window_s_check' then 'a dedupe window must be at most 30 days'
      when 'triggers_queue_check' then 'a queue name must be 1 to 100 letters, digits and _ . : -'
      when 'triggers_catch_up_check' then 'catch_up must be none, one, all or window'
      when 'triggers_overlap_check' then 'overlap must be allow, skip or queue'
      when 'triggers_payload_check' then 'a payload must be a JSON object of at most 64 KiB'
      when 'triggers_window' then 'catch_up window requires catch_up_window_s'
      when 'triggers_kind' then
        'a trigger must have either an event name or a schedule (cron or every); only a schedule may have overlap and a time zone'
      else sqlerrm end using errcode = 'PL012';
when integrity_constraint_violation or data_exception then
  raise exception 'invalid trigger: %', sqlerrm using errcode = 'PL012';
end $$;
