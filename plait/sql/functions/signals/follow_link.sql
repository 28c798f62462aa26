-- follow_link: use an approval link: send its signal to the job, once.
--
--   moves    waiting -> queued
--   locks    the link's row: only one of two concurrent calls uses it; then the same as signal
--   raises   nothing
--   called   plait.store.approvals.follow_link
--
-- Returns the link's state before this call; `open` means that this call used the link. Returns
-- null if there is no such link.
create or replace function plait.follow_link(p_hash text) returns text
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_state text;
  t       plait.job_tokens;
begin
  perform plait._require_read_committed();
  select * into t from plait.job_tokens where hash = p_hash and kind = 'signal' for update;
  select f.state into v_state from plait.find_link(p_hash) f;
  if v_state = 'open' then
    begin
      perform plait.signal(t.job_id, t.signal, t.payload, t.tenant_id, md5(t.hash)::uuid);
    exception when sqlstate 'PL009' then
      return 'ended';
    end;
    update plait.job_tokens set used_at = plait.now() where hash = p_hash;
  end if;
  return v_state;
end $$;
