-- emit: store an event in the caller's transaction. A rollback removes the event too.
--
--   moves    nothing; the leader creates one job for each trigger that matches
--   locks    nothing
--   raises   PL001 bad argument, PL002 bad id, PL003 no such tenant, PL004 foreign tenant
--   called   plait.store.caller_connections.emit_async_on,
--            plait.store.caller_connections.emit_sync_on, plait.store.events.emit, users
--
--   name   1 to 200 letters, digits and _ . : / -
--   data   a JSON object of at most 256 KiB
--   id     id of the event, so that the call can be repeated. Default: a new id
--
--   select plait.emit('order.paid', '{"order": 17, "cents": 4200}', correlation_id => 'request 5');
--
-- Returns the event's id. An existing event with this id is left unchanged.
create or replace function plait.emit(
  name text, data json default '{}', tenant text default null, correlation_id text default null,
  id uuid default null
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id     uuid := coalesce(emit.id, plait.uuidv7());
  v_tenant uuid :=
    case when emit.tenant is null then plait._tenant(null) else plait.tenant_id(emit.tenant) end;
begin
  if emit.name is null or emit.name !~ '^[A-Za-z0-9_.:/-]{1,200}$' then
    raise exception 'an event name must be 1 to 200 letters, digits and _ . : / -, got %',
      coalesce(quote_literal(left(emit.name, 80)), 'null')
      using errcode = 'PL001';
  end if;
  if emit.data is null or json_typeof(emit.data) <> 'object'
     or octet_length(emit.data::text) > 262144 then
    raise exception 'event data must be a JSON object of at most 256 KiB' using errcode = 'PL001';
  end if;
  if length(emit.correlation_id) not between 1 and 500 then
    raise exception 'a correlation id must have 1 to 500 characters' using errcode = 'PL001';
  end if;
  -- clock: ids come from the real clock
  if plait._is_new_id(v_id, plait._uuid_floor(clock_timestamp() - interval '1 day'),
                      -- clock: as above
                      plait._uuid_floor(clock_timestamp() + interval '1 day')) is not true then
    raise exception 'an event id must be a UUIDv7 that was generated within a day of now'
      using errcode = 'PL002';
  end if;
  if not exists (select from plait.tenants t where t.id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  insert into plait.events (id, tenant_id, at, name, correlation_id, data)
  values (v_id, v_tenant, plait.now(), emit.name, emit.correlation_id, emit.data)
  on conflict do nothing;
  if not found
     and not exists (select from plait.events e
                     where e.id = v_id and e.tenant_id = v_tenant and e.name = emit.name) then
    raise exception 'an event id must be a UUIDv7 that was generated within a day of now'
      using errcode = 'PL002';
  end if;
  return v_id;
end $$;
