-- cancel_remaining: cancel the open children of one fan-out that is marked cancel_due.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested
--   locks    the same as _cancel_remaining. One fan-out per call. Never waits
--   raises   nothing
--   called   plait.store.leader.resume
--
-- Returns the fan-out and the number of children to cancel; null if nothing is due. The caller
-- repeats the call, with the last fan-out as p_after, until it returns null.
create or replace function plait.cancel_remaining(
  p_after uuid default null, out o_fan_out uuid, out o_jobs int
)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
declare
  f       plait.fan_outs;
  v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
begin
  perform plait._require_read_committed();
  select * into f
  from (
    (select * from plait.fan_outs where cancel_due and id > v_after order by id limit 1)
    union all
      -- Final node jobs: cancel the parts that have not started or would start again.
      (select *
       from plait.fan_outs o
       where o.on_timeout is not null and o.decided_at is not null
         and o.succeeded + o.failed + o.canceled < o.total and o.id > v_after
         and not exists (select from plait.live l where l.job_id = o.parent_id)
         and exists (select from plait.live l
                     where l.root_id = o.root_id and l.fan_out_id = o.id and l.state <> 'running')
       order by o.id limit 1)) due
  order by id limit 1;
  if found then
    o_fan_out := f.id;
    o_jobs := plait._cancel_remaining(f, plait.now());
  end if;
end $$;
