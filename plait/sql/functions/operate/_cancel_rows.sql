-- _cancel_rows: cancel many live jobs: running jobs are asked to stop, the others become final.
--
--   moves    scheduled | queued | waiting -> canceled; running stays, with cancel_requested; or as
--            _cancel_with_grace
--   locks    live rows SKIP LOCKED, in id order; dedupe keys; then the same as _fan_in; with
--            p_free, only rows that no other transaction holds
--   raises   nothing
--   called   _cancel_remaining, cancel_tree
--
-- _cancel_remaining passes p_free and never waits. cancel_tree, which users call, waits for
-- fan-outs.
create or replace function plait._cancel_rows(
  p_now timestamptz, p_jobs uuid[], p_reason text, p_error text, p_free boolean default false,
  out o_canceled uuid[], out o_asked int
) language plpgsql
set enable_seqscan = off as $$
declare
  v_workers  int[];
  v_fan_outs uuid[];
  v_worker   int;
  v_ends     uuid[];
  v_gently   uuid[];
begin
  p_jobs := array(select l.job_id
                  from plait.live l
                  where l.job_id = any(p_jobs) and l.cancel_requested is null
                    and l.cancel_by is null
                  -- NO KEY: a running job can still save its steps
                  order by l.job_id
                  for no key update skip locked);
  v_gently := plait._cancel_with_grace(p_jobs, p_now, p_error);
  if cardinality(v_gently) > 0 then
    p_jobs := array(select j from unnest(p_jobs) j where j <> all(v_gently));
  end if;
  if p_free then
    v_ends := array(
      select l.job_id from plait.live l where l.job_id = any(p_jobs) and l.state <> 'running');
    p_jobs := array(select j from unnest(p_jobs) j where j <> all(v_ends))
      || plait._lock_affected_fan_outs(v_ends);
  end if;
  with c as materialized (
    select l.job_id, l.tenant_id, l.state, l.worker, l.attempt, l.dedupe_key, l.fan_out_id
    from plait.live l
    where l.job_id = any(p_jobs)
  ), r as (
    update plait.live l set cancel_requested = p_now, cancel_reason = p_error from c
    where l.job_id = c.job_id and c.state = 'running' returning c.worker
  ), d as (
    delete from plait.live l using c where l.job_id = c.job_id and c.state <> 'running'
  ), k as (
    delete from plait.dedupe u using c where c.state <> 'running' and c.dedupe_key is not null
      and u.tenant_id = c.tenant_id and u.key = c.dedupe_key and u.job_id = c.job_id
  ), a as (
    insert into plait.attempts (
      job_id, tenant_id, finished_at, attempt, status, final, reason, error)
    select c.job_id, c.tenant_id, p_now, c.attempt + 1, 'canceled', 'canceled', p_reason, p_error
    from c
    where c.state <> 'running'
  )
  select array_agg(c.job_id) filter (where c.state <> 'running'),
         array_agg(c.fan_out_id) filter (where c.state <> 'running'),
         array_agg(distinct c.worker) filter (where c.state = 'running'),
         count(*) filter (where c.state = 'running')
  into o_canceled, v_fan_outs, v_workers, o_asked
  from c;
  o_asked := o_asked + cardinality(v_gently);
  if o_canceled is not null then
    perform plait._fan_in(
      p_now, o_canceled, v_fan_outs,
      array_fill('canceled'::plait.status, array[cardinality(o_canceled)]));
  end if;
  foreach v_worker in array coalesce(v_workers, '{}') loop
    perform plait._notify('cancel ' || v_worker);
  end loop;
end $$;
