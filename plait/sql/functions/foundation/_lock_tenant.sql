-- _lock_tenant: serialize changes to a tenant's endpoints, or to its triggers.
--
--   moves    nothing
--   locks    the row of plait.locks for this tenant and kind, waiting at most 2 s
--   raises   PL016 if another open transaction holds the row
--   called   set_endpoint, _set_trigger, set_trigger
create or replace function plait._lock_tenant(p_tenant uuid, p_kind text) returns void
language plpgsql as $$
declare
  v_name text := p_kind || ' ' || p_tenant;
  v_was  text := plait._limit_lock_waits(2000);
begin
  insert into plait.locks (name) values (v_name) on conflict do nothing;
  perform from plait.locks where name = v_name for update;
  perform set_config('lock_timeout', v_was, true);
exception when lock_not_available then
  raise exception 'another open transaction is changing this tenant''s %: commit or roll it back, then try again',
    p_kind using errcode = 'PL016';
end $$;
