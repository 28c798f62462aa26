-- delete_trigger: delete a trigger. Jobs that it created still refer to it.
--
--   moves    nothing
--   locks    the trigger's row
--   raises   PL008 when the caller has no such trigger, PL009 for a trigger that code declares
--   called   plait.store.triggers.delete_trigger, users
--
--   p_trigger   id of the trigger
--
--   select plait.delete_trigger(:'trigger');
create or replace function plait.delete_trigger(p_trigger uuid, p_tenant uuid default null)
returns void language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid := plait._tenant(p_tenant);
  t        plait.triggers;
begin
  select * into t
  from plait.triggers
  where id = p_trigger and tenant_id = v_tenant and deleted_at is null for no key update;
  if not found then
    raise exception 'there is no trigger %', p_trigger using errcode = 'PL008';
  end if;
  if t.origin = 'code' then
    raise exception 'trigger % is declared in code: remove it there, or pause it',
      quote_literal(t.label)
      using errcode = 'PL009';
  end if;
  update plait.triggers set deleted_at = plait.now(), revision = revision + 1 where id = t.id;
  update plait.fires set outcome = 'skipped', held = null
  where trigger_id = t.id and outcome = 'held';
end $$;
