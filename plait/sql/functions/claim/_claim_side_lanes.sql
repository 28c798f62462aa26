-- _claim_side_lanes: claim up to p_limit jobs from all lanes of a queue except the main lane.
--
--   moves    queued -> running
--   locks    limits by try-locks; live rows SKIP LOCKED. Never waits
--   raises   nothing
--   called   _claim
--
-- These lanes hold limited jobs, suspects, jobs for this worker's node or build, and the leader's
-- jobs if the worker's process is the leader.
-- A claim serves a rotating window over the lanes that have queued jobs. Each lane gets its share,
-- and lanes that have more jobs get the remainder. Lanes whose limit is reached are skipped. If a
-- window yields no jobs, the claim tries up to three more windows. The next claim continues from
-- the cursor. In a lane with many tenants, the first tenant is chosen at random. A cursor shared
-- with other lanes could advance in step with them and never reach some tenants.
create or replace function plait._claim_side_lanes(
  p_worker int, p_now timestamptz, p_queue text, p_limit int, p_definitions text[],
  inout p_cursor uuid, inout p_lane_cursor text,
  out o_jobs uuid[], out o_attempts int[], out o_failed_attempts smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  c_window  constant int := 64;
  c_first   constant uuid := '00000000-0000-0000-0000-000000000000';
  v_cursor  uuid := coalesce(p_cursor, c_first);
  v_start   text := coalesce(p_lane_cursor, '');
  v_wrapped boolean := false;
  v_lanes   text[];
  v_hungry  boolean[];
  v_share   int;
  v_head    record;
  v_first   uuid;
  t         record;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}';
  p_lane_cursor := v_start;
  for round in 1..4 loop
    v_lanes := plait._queued_lanes(
      p_queue, p_lane_cursor, case when v_wrapped then v_start end, c_window);
    if cardinality(v_lanes) < c_window and not v_wrapped and v_start > '' then
      v_wrapped := true;
      v_lanes := v_lanes
        || plait._queued_lanes(p_queue, '', v_start, c_window - cardinality(v_lanes));
    end if;
    exit when cardinality(v_lanes) = 0;

    v_hungry := array_fill(true, array[cardinality(v_lanes)]);
    for pass in 1..2 loop
      for i in 1..cardinality(v_lanes) loop
        exit when cardinality(o_jobs) >= p_limit;
        if pass = 1 then
          p_lane_cursor := v_lanes[i];
        end if;
        continue when not v_hungry[i];
        v_hungry[i] := false;
        v_share := p_limit - cardinality(o_jobs);
        if pass = 1 then
          v_share := least(v_share, greatest(1, p_limit / cardinality(v_lanes)));
        end if;
        continue when (v_lanes[i] = 'leader' or v_lanes[i] like 'n:%' or v_lanes[i] like 'b:%'
                       or v_lanes[i] like 'suspect:%')
          and not plait._serves_lane(p_worker, v_lanes[i]);
        if v_lanes[i] like 'suspect%' then
          t := plait._claim_suspects(
            p_worker => p_worker, p_now => p_now, p_queue => p_queue, p_lane => v_lanes[i],
            p_definitions => p_definitions, p_limit => v_share);
          v_hungry[i] := cardinality(t.o_jobs) = v_share;
        elsif v_lanes[i] = 'leader' or v_lanes[i] like 'n:%'
              or v_lanes[i] like 'b:%' and v_lanes[i] not like '% %' then
          -- Jobs of any definition, without limits.
          t := plait._claim_lane(
            p_worker => p_worker, p_now => p_now, p_queue => p_queue, p_lane => v_lanes[i],
            p_limit => v_share, p_definitions => p_definitions, p_bounds => null,
            p_cursor => plait._random_tenant(p_queue, v_lanes[i], v_cursor));
          v_hungry[i] := cardinality(t.o_jobs) = v_share;
        else
          -- All jobs of a limited lane have the same definition. Jobs with a limit key also have
          -- the same tenant and key.
          select l.tenant_id, l.definition, l.limit_key into v_head from plait.live l
            where l.queue = p_queue and l.lane = v_lanes[i] and l.lane <> '' and l.state = 'queued'
            order by l.tenant_id, l.priority, l.run_at, l.job_id limit 1;
          continue when not found or not v_head.definition = any(p_definitions);
          v_share := least(
            v_share, plait._capacity(v_head.definition, v_head.tenant_id, v_head.limit_key, p_now));
          continue when v_share <= 0;
          v_first := case when v_head.limit_key is null then v_cursor end;
          -- with a share of 128 or more, the window of _claim_lane has its maximum width
          if v_head.limit_key is null and v_share < 128 then
            v_first := plait._random_tenant(p_queue, v_lanes[i], v_cursor);
          end if;
          t := plait._claim_lane(
            p_worker => p_worker, p_now => p_now, p_queue => p_queue, p_lane => v_lanes[i],
            p_limit => v_share, p_definitions => p_definitions, p_bounds => null,
            p_cursor => v_first);
          continue when cardinality(t.o_jobs) = 0;
          perform plait._capacity(
            v_head.definition, v_head.tenant_id, v_head.limit_key, p_now, cardinality(t.o_jobs));
          p_cursor := t.p_cursor;
          v_hungry[i] := cardinality(t.o_jobs) = v_share;
        end if;
        o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts;
        o_failed_attempts := o_failed_attempts || t.o_failed_attempts; o_max := o_max || t.o_max;
      end loop;
    end loop;
    exit when cardinality(o_jobs) > 0 or cardinality(v_lanes) < c_window;
  end loop;
end $$;
