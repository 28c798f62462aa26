-- cancel_remaining: cancel what one fan-out has left open, where that is due. Called again until there is none.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested
--   locks    live rows SKIP LOCKED; then as _fan_in. One fan-out a call, so that their locks are always taken in order
--   raises   nothing
--   called   plait.store.leader.resume
--
-- Returns how many jobs were looked at; null when nothing is due.
create or replace function plait.cancel_remaining(p_after uuid default null, out o_fan_out uuid, out o_jobs int)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare f plait.fan_outs;
begin
  perform plait._require_read_committed();
  select * into f from plait.fan_outs
    where cancel_due and id > coalesce(p_after, '00000000-0000-0000-0000-000000000000') order by id limit 1;
  if found then
    o_fan_out := f.id;
    o_jobs := plait._cancel_remaining(f, plait.now());
  end if;
end $$;
