-- _still_leads: whether a worker's process has been the leader since it claimed a job (fencing).
--
--   moves    nothing
--   locks    with p_hold, the leader's row FOR SHARE: no other process takes over before the commit
--   raises   nothing
--   called   _lock_attempt, save_steps, _settle, _settle_tied, write_streams
--
-- An expired lease does not matter until another process acquires it: the fencing token is the
-- term, and `since` is when the term began. Use p_hold only if the transaction ends with the
-- statement: a user's transaction on a machine that hangs would prevent every other process from
-- becoming the leader. save_steps and write_streams do not hold the row.
create or replace function plait._still_leads(
  p_worker int, p_claimed_at timestamptz, p_hold boolean default true
) returns boolean
language plpgsql volatile as $$
declare v_holder text := (select w.holder from plait.workers w where w.id = p_worker);
begin
  if p_hold then
    perform from plait.leader l
    where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder for share;
  else
    perform from plait.leader l
    where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder;
  end if;
  return found;
end $$;
