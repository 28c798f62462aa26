-- _led: whether a worker's process has led ever since a job was claimed: only then does what it did as the leader count.
--
--   moves    nothing
--   locks    the leader's row FOR SHARE: until this commits, nobody takes over
--   raises   nothing
--   called   _settle, _settle_tied, _hold, save_steps
--
-- A lease that has run out does not matter while nobody else has taken it: the fence is the term, and `since` is when it began.
create or replace function plait._led(p_worker int, p_claimed_at timestamptz) returns boolean
language plpgsql volatile as $$
begin
  perform from plait.leader l
    where l.name = 'main' and l.since <= p_claimed_at and l.holder = (select w.holder from plait.workers w where w.id = p_worker) for share;
  return found;
end $$;
