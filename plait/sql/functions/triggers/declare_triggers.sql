-- declare_triggers: register the triggers in an application's code. Writes only differences.
--
--   moves    nothing
--   locks    triggers, in the order of tenant and label
--   raises   PL012 for an invalid trigger, PL003 for an unknown tenant
--   called   plait.store.triggers.declare_triggers
--
-- p_triggers is a JSON array of {tenant, label, settings}. p_definitions: all definitions of the
-- application; triggers of these definitions that the code no longer declares are deleted. A
-- trigger that an operator has paused stays paused.
create or replace function plait.declare_triggers(p_triggers json, p_definitions text[]) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_kept uuid[] := '{}';
  v_gone int;
  r      record;
begin
  perform plait._require_read_committed();
  for r in
    select case when x.tenant is null then plait._tenant(null)
                else plait.tenant_id(x.tenant) end as tenant_id,
           x.label, x.settings
    from json_to_recordset(p_triggers) x(tenant text, label text, settings json)
    order by 1, 2
  loop
    v_kept := v_kept || plait._set_trigger(r.tenant_id, r.label, r.settings, 'code');
  end loop;
  update plait.triggers set deleted_at = plait.now(), revision = revision + 1
  where id in (select id
               from plait.triggers
               where origin = 'code' and deleted_at is null and definition = any(p_definitions)
                 and not id = any(v_kept)
               order by id for no key update);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
