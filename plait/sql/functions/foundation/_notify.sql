-- _notify: send a notification to plait's processes when this transaction commits, unless the session has set plait.notify to off.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   cancel, _cancel_rows, _cancel_with_grace, _wake_workers
--
-- A transaction that has executed NOTIFY can't be prepared (two-phase commit). Who does without it relies on polling.
create or replace function plait._notify(p_text text) returns void
language plpgsql as $$
begin
  if current_setting('plait.notify', true) is distinct from 'off' then
    perform pg_notify('plait', p_text);
  end if;
end $$;
