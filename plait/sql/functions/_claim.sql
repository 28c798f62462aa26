-- _claim: take up to p_limit jobs of one queue; see claim.
--
--   moves    queued -> running
--   locks    the queue's advisory lock, shared and tried: a pause waits for the claims under way, and no claim waits for a
--            pause; limits by try-locks; live rows SKIP LOCKED. Never waits.
--   raises   nothing
--   called   claim, cycle
--
-- The main lane '' first holds everybody without limits. The other lanes are skipped whole when they can't run, and get at
-- most half of the limit while the main lane has work, in turn from a cursor of their own.
create or replace function plait._claim(
  p_worker int, p_now timestamptz, p_queue text, p_limit int, p_definitions text[],
  inout p_cursor uuid, inout p_lane_cursor text,
  out o_jobs uuid[], out o_attempts int[], out o_tries smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  q        plait.queues;
  v_rest   int := p_limit;
  v_lanes  text[];
  v_lane   text;
  v_head   record;
  v_room   int;
  t        record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_tries := '{}'; o_max := '{}';
  p_lane_cursor := coalesce(p_lane_cursor, '');
  if not pg_try_advisory_xact_lock_shared(hashtextextended('plait.queue ' || p_queue, 0)) then
    return;
  end if;
  select * into q from plait.queues where name = p_queue;
  if found then
    if q.paused then
      return;
    end if;
    if q.max_running is not null or q.rate_count is not null then
      if not pg_try_advisory_xact_lock(hashtextextended('plait.limit queue ' || p_queue, 0)) then
        return;
      end if;
      if q.max_running is not null then
        v_rest := least(v_rest, q.max_running - (select count(*) from plait.live l where l.state = 'running' and l.queue = p_queue));
      end if;
      if q.rate_count is not null then
        v_rest := least(v_rest, plait._tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now));
      end if;
    end if;
  end if;
  if v_rest <= 0 then
    return;
  end if;
  p_limit := v_rest;

  if exists (select from plait.live l where l.queue = p_queue and l.lane > '' and l.state = 'queued') then
    if exists (select from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued') then
      v_rest := greatest(1, p_limit / 2);
    end if;
    with recursive s(lane, n) as (
      (select l.lane, 1 from plait.live l
       where l.queue = p_queue and l.state = 'queued' and l.lane > p_lane_cursor order by l.lane limit 1)
      union all
      (select y.lane, s.n + 1 from s cross join lateral (
         select l.lane from plait.live l where l.queue = p_queue and l.state = 'queued' and l.lane > s.lane order by l.lane limit 1) y
       where s.n < 64))
    select array_agg(lane order by n) into v_lanes from s;
    p_lane_cursor := case when cardinality(v_lanes) = 64 then v_lanes[64] else '' end;   -- '' begins again next time

    foreach v_lane in array coalesce(v_lanes, '{}') loop
      exit when v_rest <= 0;
      if v_lane = 'suspect' then
        -- One suspect a worker at a time: whichever kills its worker must not take another with it.
        if not exists (select from plait.live l where l.state = 'running' and l.worker = p_worker and l.lane = 'suspect') then
          for v_head in select l.job_id, l.tenant_id, l.definition, l.limit_key from plait.live l
                        where l.queue = p_queue and l.lane = 'suspect' and l.state = 'queued' and l.definition = any(p_definitions)
                          and not exists (select from plait.tenants s where s.id = l.tenant_id and s.paused)
                        order by l.run_at limit 20 for update skip locked loop
            if plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now) > 0 then
              perform plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, 1);
              update plait.live set state = 'running', worker = p_worker, attempt = attempt + 1, run_at = p_now
                where job_id = v_head.job_id returning job_id, attempt, tries, max_attempts into t;
              o_jobs := o_jobs || t.job_id; o_attempts := o_attempts || t.attempt;
              o_tries := o_tries || t.tries; o_max := o_max || t.max_attempts;
              v_rest := v_rest - 1;
              exit;
            end if;
          end loop;
        end if;
        continue;
      end if;
      -- All jobs of a limited lane share their definition, and their key and tenant where they have one.
      for v_head in select l.tenant_id, l.definition, l.limit_key from plait.live l
                    where l.queue = p_queue and l.lane = v_lane and l.state = 'queued' and l.definition = any(p_definitions)
                    order by l.tenant_id limit 1 loop
        v_room := least(v_rest, plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now));
        continue when v_room <= 0;
        t := plait._take(p_worker, p_now, p_queue, v_lane, v_room, p_definitions, p_cursor);
        continue when cardinality(t.o_jobs) = 0;
        perform plait._room(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, cardinality(t.o_jobs));
        o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts; o_tries := o_tries || t.o_tries; o_max := o_max || t.o_max;
        v_rest := v_rest - cardinality(t.o_jobs);
      end loop;
    end loop;
    v_rest := p_limit - cardinality(o_jobs);
  end if;

  if v_rest > 0 then
    t := plait._take(p_worker, p_now, p_queue, '', v_rest, p_definitions, p_cursor);
    p_cursor := t.p_cursor;
    o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts; o_tries := o_tries || t.o_tries; o_max := o_max || t.o_max;
  end if;
  if q.rate_count is not null and cardinality(o_jobs) > 0 then
    perform plait._tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now, cardinality(o_jobs));
  end if;
end $$;
