-- _write_definition: store a definition; if it gets a limit, its jobs move to the limit's lane.
--
--   moves    nothing
--   locks    the definition's row; live rows of its jobs in id order, SKIP LOCKED except for a node
--            job
--   raises   check violations; PL015 with p_new, if it exists or is created at the same time
--   called   clear_overrides, define, set_definition
--
-- A job that is enqueued at the same moment may miss the lane: the limit is guaranteed only for
-- jobs that are enqueued after the change.
create or replace function plait._write_definition(r plait.definitions, p_new boolean default false)
returns void language plpgsql as $$
declare
  v_known text[] := (select search_keys from plait.definitions where name = r.name);
  v_last  uuid;
begin
  r.search_keys := nullif(r.search_keys, '{}');
  r.sensitive := nullif(r.sensitive, '{}');
  if r.search_keys is null then
    r.search_from := null;
  elsif not coalesce(r.search_keys <@ v_known, false) then
    -- This is greater than the id of every existing job and of every job being enqueued now.
    select id into v_last from plait.jobs order by id desc limit 1;
    r.search_from := plait._uuid_floor(
      greatest(clock_timestamp() + interval '1 s',   -- clock: ids come from the real clock
               to_timestamp((('x' || left(replace(v_last::text, '-', ''), 12))::bit(48)::bigint
                               + 1) / 1000.0)));
  end if;
  if p_new then
    -- if two calls run at once, only one of them creates the definition
    insert into plait.definitions (name) values (r.name) on conflict do nothing;
    if not found then
      raise exception 'definition % already exists', quote_literal(r.name) using errcode = 'PL015';
    end if;
  end if;
  insert into plait.definitions
  select r.*
  on conflict (name) do update set
    kind = excluded.kind, active = excluded.active, queue = excluded.queue,
    priority = excluded.priority, max_attempts = excluded.max_attempts,
    timeout_s = excluded.timeout_s, backoff_base_s = excluded.backoff_base_s,
    backoff_factor = excluded.backoff_factor, backoff_max_s = excluded.backoff_max_s,
    backoff_jitter = excluded.backoff_jitter, max_running = excluded.max_running,
    rate_count = excluded.rate_count, rate_period_s = excluded.rate_period_s,
    key_max_running = excluded.key_max_running, key_rate_count = excluded.key_rate_count,
    key_rate_period_s = excluded.key_rate_period_s, updated_at = excluded.updated_at,
    child_mode = excluded.child_mode, on_child_failure = excluded.on_child_failure,
    allow_nested = excluded.allow_nested,
    cancel_on_parent_failure = excluded.cancel_on_parent_failure,
    schema = excluded.schema, description = excluded.description,
    on_node = excluded.on_node, on_leader = excluded.on_leader, quorum = excluded.quorum,
    quorum_timeout_s = excluded.quorum_timeout_s, on_timeout = excluded.on_timeout,
    on_node_failure = excluded.on_node_failure, search_keys = excluded.search_keys,
    search_from = excluded.search_from, coded = excluded.coded,
    inherits_attempts = excluded.inherits_attempts, sensitive = excluded.sensitive,
    cancel_grace_s = excluded.cancel_grace_s, deadline_s = excluded.deadline_s;
  if r.kind = 'node' then   -- jobs may have been enqueued before the kind was known
    update plait.live set lane = 'leader', tied = true
    where job_id in (select job_id
                     from plait.live
                     where definition = r.name and lane not in ('leader', 'suspect:leader')
                     order by job_id for no key update);
  end if;
  if r.max_running is not null or r.rate_count is not null then
    update plait.live set lane = case when lane = '' then '' else lane || ' ' end || 'd:' || r.name
    where job_id in (select job_id
                     from plait.live
                     where definition = r.name
                       and (lane = '' or lane like 'b:%' and lane not like '% %')
                     order by job_id for no key update skip locked);
  end if;
end $$;
