-- _require_read_committed: reject isolation levels other than READ COMMITTED.
--
--   moves    nothing
--   locks    nothing
--   raises   PL010
--   called   by more than a dozen functions
--
-- Verbs that move jobs rely on each statement having its own snapshot.
create or replace function plait._require_read_committed() returns void
language plpgsql stable as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'transaction isolation must be READ COMMITTED, got %',
      upper(current_setting('transaction_isolation'))
      using errcode = 'PL010';
  end if;
end $$;
