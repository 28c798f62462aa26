-- _insert_jobs: insert jobs and their live rows, except on the two fast paths.
--
--   moves    nothing -> queued | scheduled; -> waiting, for jobs that depend on others, wait for
--            their turn or wait for their nodes
--   locks    nothing
--   raises   23505 if an id exists already
--   called   _enqueue_follow_ups, enqueue_many, fork, open_fan_out, _open_nodes, _spawn
--
-- enqueue_one and _enqueue_plain insert plain jobs, where each expression has a measurable cost.
-- All other jobs are inserted here, so a new column of plait.jobs becomes an argument here. The
-- caller has checked the arguments (_check_jobs), and stores search values and deadlines. Arrays
-- have one element per job: a missing array is null for all jobs, and a single element of
-- p_definitions, p_queues, p_priorities or p_max_attempts applies to all. p_only: insert only these
-- ids. Arrays are read by position, which costs less than unnesting all of them, and payloads are
-- not copied into the materialized rows.
-- The plan is generic, because planning for each call would cost more than it saves.
-- p_tenant, p_correlation_id: values for all jobs; null: each job has its own value.
-- p_metered: whether the jobs count toward a quota; null: if their tenant has a quota.
-- p_fan_out: the fan-out that the jobs belong to. p_indexes: their positions. Default: from 0. From
-- position p_turn_from on, jobs wait for their turn. p_parent_attempts: see _resolve_options.
-- p_nodes: the node that may run each job. p_await_nodes: node jobs wait for their parts.
-- p_forked_from: attempt 1 of a fork never runs, so its live row starts with attempt 1.
-- o_queues: queues that now have new jobs; o_metered: the tenant of each job that counts toward a
-- quota; o_node_jobs: jobs that wait for their parts.
create or replace function plait._insert_jobs(
  p_now              timestamptz,
  p_ids              uuid[],
  p_definitions      text[],
  p_payloads         json[],
  p_source           text,
  p_tenant           uuid default null,
  p_tenants          uuid[] default null,
  p_queues           text[] default null,
  p_priorities       int[] default null,
  p_max_attempts     int[] default null,
  p_scheduled_for    timestamptz[] default null,
  p_delays_s         float8[] default null,
  p_timeouts_s       float8[] default null,
  p_dedupe_keys      text[] default null,
  p_idempotency_keys text[] default null,
  p_limit_keys       text[] default null,
  p_correlation_ids  text[] default null,
  p_correlation_id   text default null,
  p_afters           text[] default null,
  p_nodes            text[] default null,
  p_defaults         json default null,
  p_only             uuid[] default null,
  p_metered          boolean default null,
  p_fan_out          plait.fan_outs default null,
  p_indexes          int[] default null,
  p_turn_from        int default null,
  p_parent_attempts  int default null,
  p_await_nodes      boolean default false,
  p_forked_from      uuid default null,
  out o_queues text[], out o_metered uuid[], out o_node_jobs uuid[]
)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_n int := cardinality(p_ids);
begin
  p_definitions := plait._repeat_single(p_definitions, v_n);
  p_queues := plait._repeat_single(p_queues, v_n);
  p_priorities := plait._repeat_single(p_priorities, v_n);
  p_max_attempts := plait._repeat_single(p_max_attempts, v_n);
  with n as materialized (
    select
      i.n, i.id, coalesce(p_tenant, p_tenants[i.n]) as tenant_id, i.definition,
      greatest(p_scheduled_for[i.n], p_now + make_interval(secs => p_delays_s[i.n]))
        as scheduled_for,
      p_timeouts_s[i.n] as timeout_s, o.queue, o.priority, o.max_attempts,
      coalesce(p_correlation_ids[i.n], p_correlation_id) as correlation_id,
      p_dedupe_keys[i.n] as dedupe_key, p_idempotency_keys[i.n] as idempotency_key,
      p_limit_keys[i.n] as limit_key, nullif(p_afters[i.n]::uuid[], '{}') as after,
      p_nodes[i.n] as node,
      case when p_fan_out.id is not null then coalesce(p_indexes[i.n], i.n - 1) end
        as fan_out_index,
      d.max_running, d.rate_count, d.on_node, coalesce(d.kind = 'node', false) as is_node_job
    from unnest(p_ids, p_definitions) with ordinality i(id, definition, n)
    left join plait.definitions d on d.name = i.definition
    cross join plait._resolve_options(
      p_definition => d, p_name => i.definition, p_queue => p_queues[i.n],
      p_priority => p_priorities[i.n], p_max_attempts => p_max_attempts[i.n],
      p_parent_attempts => p_parent_attempts, p_defaults => p_defaults) o
    where p_only is null or i.id = any(p_only)
  ), j as (
    insert into plait.jobs (
      id, tenant_id, created_at, scheduled_for, timeout_s, priority, max_attempts, definition,
      queue, source, correlation_id, dedupe_key, idempotency_key, limit_key, payload,
      parent_id, root_id, fan_out_id, fan_out_index, depth, forked_from, after, node)
    select
      n.id, n.tenant_id, p_now, n.scheduled_for, n.timeout_s, n.priority, n.max_attempts,
      n.definition, n.queue, p_source, n.correlation_id, n.dedupe_key, n.idempotency_key,
      n.limit_key, p_payloads[n.n], p_fan_out.parent_id, p_fan_out.root_id, p_fan_out.id,
      n.fan_out_index, p_fan_out.depth, p_forked_from, n.after, n.node
    from n
  ), s as (
    select n.*, coalesce(n.fan_out_index >= p_turn_from, false) as awaits_turn,
           case when n.after is not null or n.fan_out_index >= p_turn_from
                  then 'waiting'::plait.status
                when n.scheduled_for > p_now then 'scheduled'
                when p_await_nodes and n.on_node is not null then 'waiting'
                else 'queued' end as state
    from n
  ), l as (
    insert into plait.live (job_id, tenant_id, run_at, attempt, priority, max_attempts, state,
                            metered, queue, lane, definition, dedupe_key, limit_key, root_id,
                            fan_out_id, wait_on, tied)
    select s.id, s.tenant_id, case when s.state = 'scheduled' then s.scheduled_for else p_now end,
           case when p_forked_from is null then 0 else 1 end, s.priority, s.max_attempts, s.state,
           coalesce(p_metered, (select t.max_queued is not null from plait.tenants t
                                where t.id = s.tenant_id)),
           s.queue,
           case when s.node is not null then 'n:' || s.node
                when s.is_node_job then 'leader'
                when s.limit_key is not null
                  then 'k:' || s.definition || ':' || s.tenant_id || ':' || s.limit_key
                when s.max_running is not null or s.rate_count is not null then 'd:' || s.definition
                else '' end,
           s.definition, s.dedupe_key, s.limit_key, p_fan_out.root_id, p_fan_out.id,
           case when s.awaits_turn then 'turn' end, s.is_node_job
    from s
    returning job_id, queue, state, tenant_id, metered, lane
  )
  select array_agg(distinct queue) filter (where state = 'queued'),
         array_agg(tenant_id) filter (where metered),
         array_agg(job_id) filter (where p_await_nodes and state = 'waiting' and lane = 'leader')
    into o_queues, o_metered, o_node_jobs from l;
end $$;
