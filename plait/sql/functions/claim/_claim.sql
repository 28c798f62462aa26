-- _claim: claim up to p_limit jobs of one queue.
--
--   moves    queued -> running
--   locks    limits by try-locks; live rows SKIP LOCKED. Never waits. The caller holds the worker's
--            row FOR KEY SHARE, which await_claims waits for
--   raises   nothing
--   called   claim, cycle
--
-- p_bounds: scan bounds, to be sent with this worker's next claim of this queue; null: read the
-- index from the start. p_seen_at: a time that was read before this transaction got its id; without
-- it the bounds do not advance.
-- The main lane '' holds the jobs without limits. The other lanes get half of the limit while the
-- main lane has work, in rotation from a separate cursor. If the limit is odd, the last job goes to
-- a random side, so that claims of one job at a time are also fair.
create or replace function plait._claim(
  p_worker int, p_now timestamptz, p_queue text, p_limit int, p_definitions text[],
  p_seen_at timestamptz, inout p_cursor uuid, inout p_lane_cursor text,
  inout p_bounds plait.scan_bounds, out o_jobs uuid[], out o_attempts int[],
  out o_failed_attempts smallint[], out o_max smallint[]
) language plpgsql as $$
declare
  q       plait.queues;
  h       record;
  v_rest  int := p_limit;
  v_lanes boolean;
  v_main  boolean;
  v_part  int;
  t       record;
  t2      record;
  v_began timestamptz;
begin
  o_jobs := '{}'; o_attempts := '{}'; o_failed_attempts := '{}'; o_max := '{}';
  -- The queue, and whether it has jobs. If there are scan bounds, nothing is read from the start of
  -- the index.
  select x as queue,
         exists (select from plait.live l
                 where l.queue = p_queue and l.lane <> '' and l.state = 'queued') as lanes,
         exists (select from plait.tenants
                 where paused or weight <> 1 or max_running is not null) as special,
         case when (p_bounds).tenants is null then
                (select l.tenant_id
                 from plait.live l
                 where l.queue = p_queue and l.lane = '' and l.state = 'queued'
                 order by l.tenant_id limit 1) end as first,
         case when (p_bounds).tenants is null then
                (select l.tenant_id
                 from plait.live l
                 where l.queue = p_queue and l.lane = '' and l.state = 'queued'
                 order by l.tenant_id desc limit 1) end as last
  into h
  from (select) one
  left join plait.queues x on x.name = p_queue;
  q := h.queue;
  if q.name is not null then
    if q.paused then
      return;
    end if;
    if q.max_running is not null or q.rate_count is not null then
      if not plait._try_limit('queue ' || p_queue) then
        return;
      end if;
      if q.max_running is not null then
        v_rest := least(
          v_rest,
          q.max_running
            - (select count(*) from plait.live l where l.state = 'running' and l.queue = p_queue));
      end if;
      if q.rate_count is not null then
        v_rest := least(
          v_rest, plait._rate_tokens('queue ' || p_queue, q.rate_count, q.rate_period_s, p_now));
      end if;
    end if;
  end if;
  if v_rest <= 0 then
    return;
  end if;
  p_limit := v_rest;

  if q.serial then
    if q.settling
       and (p_now < q.updated_at + interval '10 s' or not plait._begin_serial(p_queue)) then
      return;
    end if;
    t := plait._claim_serial(p_worker, p_now, p_queue, p_limit, p_definitions);
    o_jobs := t.o_jobs; o_attempts := t.o_attempts; o_failed_attempts := t.o_failed_attempts;
    o_max := t.o_max;
    if q.rate_count is not null and cardinality(o_jobs) > 0 then
      perform plait._rate_tokens(
        'queue ' || p_queue, q.rate_count, q.rate_period_s, p_now, cardinality(o_jobs));
    end if;
    return;
  end if;
  v_lanes := h.lanes;
  v_main := h.first is not null or (p_bounds).tenants is not null;
  if v_lanes and (p_bounds).tenants is not null then
    v_main := exists (
      select from plait.live l where l.queue = p_queue and l.lane = '' and l.state = 'queued');
  end if;
  if v_lanes then
    v_part := case when v_main then p_limit / 2 + (p_limit % 2 = 1 and random() < 0.5)::int
                   else p_limit end;
    t := plait._claim_side_lanes(
      p_worker => p_worker, p_now => p_now, p_queue => p_queue, p_limit => v_part,
      p_definitions => p_definitions, p_cursor => p_cursor, p_lane_cursor => p_lane_cursor);
    o_jobs := t.o_jobs; o_attempts := t.o_attempts; o_failed_attempts := t.o_failed_attempts;
    o_max := t.o_max;
    p_lane_cursor := t.p_lane_cursor;
    if not v_main then
      p_cursor := t.p_cursor;
    end if;
  end if;
  if v_main and cardinality(o_jobs) < p_limit then
    v_began := clock_timestamp();  -- clock: measures this claim
    t := plait._claim_lane(
      p_worker => p_worker, p_now => p_now, p_queue => p_queue, p_lane => '',
      p_limit => p_limit - cardinality(o_jobs), p_definitions => p_definitions,
      p_bounds => p_bounds, p_cursor => p_cursor,
      p_only => case when h.first = h.last then h.first end, p_special => h.special);
    p_cursor := t.p_cursor;
    if cardinality(t.o_jobs) >= 100 and p_seen_at is not null then
      if t.o_tenants[1] = all(t.o_tenants) and t.o_priorities[1] = all(t.o_priorities) then
        t.o_tenants := t.o_tenants[1:1]; t.o_priorities := t.o_priorities[1:1];
      end if;
      p_bounds := plait._advance_scan_bounds(
        p_bounds => p_bounds, p_seen_at => p_seen_at, p_queue => p_queue,
        p_definitions => p_definitions, p_tenants => t.o_tenants, p_priorities => t.o_priorities);
    elsif p_seen_at >= coalesce(plait._rescan_at(p_bounds), '-infinity')
          -- clock: as above
          and clock_timestamp() - v_began > interval '2 ms'
                + interval '100 us' * cardinality(t.o_jobs) then
      -- The claim was slow for few jobs: there may be many dead entries, or many jobs of
      -- definitions that this worker does not have. Later claims start after them.
      t2 := plait._first_queued(p_queue, p_bounds);
      p_bounds := plait._advance_scan_bounds(
        p_bounds => p_bounds, p_seen_at => p_seen_at, p_queue => p_queue,
        p_definitions => p_definitions, p_tenants => coalesce(t2.o_tenants, '{}'),
        p_priorities => coalesce(t2.o_priorities, '{}'));
    end if;
    o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts;
    o_failed_attempts := o_failed_attempts || t.o_failed_attempts; o_max := o_max || t.o_max;
    if v_lanes and cardinality(o_jobs) < p_limit then   -- the main lane did not use its share
      t := plait._claim_side_lanes(
        p_worker => p_worker, p_now => p_now, p_queue => p_queue,
        p_limit => p_limit - cardinality(o_jobs), p_definitions => p_definitions,
        p_cursor => p_cursor, p_lane_cursor => p_lane_cursor);
      p_lane_cursor := t.p_lane_cursor;
      o_jobs := o_jobs || t.o_jobs; o_attempts := o_attempts || t.o_attempts;
      o_failed_attempts := o_failed_attempts || t.o_failed_attempts; o_max := o_max || t.o_max;
    end if;
  end if;
  if q.rate_count is not null and cardinality(o_jobs) > 0 then
    perform plait._rate_tokens(
      'queue ' || p_queue, q.rate_count, q.rate_period_s, p_now, cardinality(o_jobs));
  end if;
end $$;
