-- _notify: send a notification when the transaction commits, unless plait.notify is off.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   cancel, _cancel_rows, _cancel_with_grace, _wake_workers
--
-- A transaction that has executed NOTIFY can't be prepared (two-phase commit). Without
-- notifications, workers rely on polling.
create or replace function plait._notify(p_text text) returns void
language plpgsql as $$
begin
  if current_setting('plait.notify', true) is distinct from 'off' then
    perform pg_notify('plait', p_text);
  end if;
end $$;
