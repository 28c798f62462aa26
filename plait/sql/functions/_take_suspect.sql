-- _take_suspect: claim one job that ran when its worker was lost, unless this worker runs such a one already.
--
--   moves    queued -> running
--   locks    limits by try-locks; live rows SKIP LOCKED. Never waits
--   raises   nothing
--   called   _take_lanes
--
-- One suspect a worker at a time: whichever kills its worker must not take another with it. The limits of its definition, key
-- and tenant hold for a suspect as for any job.
create or replace function plait._take_suspect(
  p_worker int, p_now timestamptz, p_queue text, p_lane text, p_definitions text[],
  out o_jobs uuid[], out o_attempts int[], out o_tries smallint[], out o_max smallint[]
) language plpgsql as $$
declare v_head record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  if exists (select from plait.live l where l.state = 'running' and l.worker = p_worker and l.lane like 'suspect%') then
    return;
  end if;
  for v_head in
    select l.job_id, l.tenant_id, l.definition, l.limit_key from plait.live l
    where l.queue = p_queue and l.lane = p_lane and l.lane <> '' and l.state = 'queued' and l.definition = any(p_definitions)
      and not exists (select from plait.tenants s where s.id = l.tenant_id and s.paused)
    order by l.run_at, l.job_id limit 20 for update skip locked
  loop
    continue when plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now) <= 0
      or exists (select from plait._shares(array[v_head.tenant_id], 1) s where s.cap <= 0);
    perform plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, 1);
    update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
      where job_id = v_head.job_id
      returning array[job_id], array[attempt], array[tries], array[max_attempts] into o_jobs, o_attempts, o_tries, o_max;
    return;
  end loop;
end $$;
