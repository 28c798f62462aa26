-- _last_failed_fan_out: the fan-out or nursery that a job opened last, if it failed.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _retry, retry_tree
create or replace function plait._last_failed_fan_out(p_job uuid) returns uuid
language sql volatile as $$
  select f.id
  from (select s.* from plait.steps s where s.job_id = p_job order by s.seq desc limit 1) s
  join plait.fan_outs f
    on f.parent_id = p_job and f.id <> p_job and f.decision <> 'succeeded'
      and f.id = case when s.kind = 'spawn' then
                        (select j.fan_out_id
                         from plait.jobs j
                         where j.id = (s.value -> 'ids' ->> -1)::uuid)
                      else s.fan_out_id end $$;
