-- _enqueue_late_follow_ups: enqueue follow-ups whose dedupe key a user's transaction held before.
--
--   moves    the same as _enqueue_follow_ups
--   locks    late follow-ups SKIP LOCKED; then the same as _enqueue_follow_ups
--   raises   nothing
--   called   rescue
create or replace function plait._enqueue_late_follow_ups(p_limit int) returns void
language plpgsql set enable_seqscan = off as $$
declare r record;
begin
  for r in
    select u.job_id, u.tenant_id
    from plait.follow_ups u
    where u.late
    order by u.job_id, u.id limit p_limit for update skip locked
  loop
    -- a second follow-up of the same job finds nothing left to do
    perform plait._enqueue_follow_ups(r.job_id, r.tenant_id);
  end loop;
end $$;
