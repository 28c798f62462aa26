-- _still_leads: whether a worker's process has led ever since a job was claimed: only then does what it did as the leader count.
--
--   moves    nothing
--   locks    the leader's row FOR SHARE, where p_hold: until this commits, nobody takes over
--   raises   nothing
--   called   _lock_attempt, save_steps, _settle, _settle_tied, write_streams
--
-- A lease that has run out does not matter while nobody else has taken it: the fence is the term, and `since` is when it began.
-- p_hold only where the transaction ends with the statement: a user's, on a machine that hangs, would keep everybody from leading.
create or replace function plait._still_leads(p_worker int, p_claimed_at timestamptz, p_hold boolean default true) returns boolean
language plpgsql volatile as $$
declare v_holder text := (select w.holder from plait.workers w where w.id = p_worker);
begin
  if p_hold then
    perform from plait.leader l where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder for share;
  else
    perform from plait.leader l where l.name = 'main' and l.since <= p_claimed_at and l.holder = v_holder;
  end if;
  return found;
end $$;
