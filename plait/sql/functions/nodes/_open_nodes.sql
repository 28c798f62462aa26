-- _open_nodes: fix the set of nodes of a node job: a fan-out with a part for each node.
--
--   moves    nothing -> queued, for each node's part
--   locks    the tenant's row if it has a quota
--   raises   PL005 if the quota is exhausted
--   called   open_nodes, _start_node_job
--
-- The set of nodes consists of every node with a live worker that is not draining, serves the queue
-- and has the definition. Returns null if there are fewer nodes than the quorum requires.
create or replace function plait._open_nodes(
  p_now timestamptz, p_job plait.jobs, p_metered boolean, p_attempt int, p_seq int, p_always boolean
) returns uuid
language plpgsql as $$
declare
  d        plait.definitions;
  n        plait.definitions;
  v_nodes  text[];
  v_total  int;
  v_needed int;
  v_id     uuid := plait.uuidv7();
  v_ids    uuid[];
  f        plait.fan_outs;
begin
  select * into d from plait.definitions where name = p_job.definition;
  select * into n from plait.definitions where name = d.on_node;
  v_nodes := array(
    select distinct w.node from plait.workers w
    where w.node is not null and w.state = 'alive' and w.expires_at > p_now and not w.draining
      and p_job.queue = any(w.queues) and d.on_node = any(w.definitions) order by 1);
  v_total := cardinality(v_nodes);
  v_needed := case d.quorum when 'majority' then v_total / 2 + 1
                   when 'all' then greatest(1, v_total)
                   else d.quorum::int end;
  if v_total < v_needed then
    return null;
  end if;
  if p_metered then
    perform plait._reserve_quota(p_job.tenant_id, v_total);
  end if;
  insert into plait.fan_outs (
    id, tenant_id, parent_id, root_id, created_at, timeout_at, timeout_s, depth, total, needed,
    waited_for, early, streamed, nested, cancel_remaining, cancel_on_parent_failure, strategy,
    on_timeout, on_node_failure)
  values (v_id, p_job.tenant_id, p_job.id, coalesce(p_job.root_id, p_job.id), p_now,
          p_now + make_interval(secs => d.quorum_timeout_s), d.quorum_timeout_s,
          coalesce(p_job.depth, 0) + 1, v_total, v_needed, v_total, true, false, true, true, true,
          'quorum', d.on_timeout, d.on_node_failure)
  returning * into f;
  v_ids := array(select plait.uuidv7() from unnest(v_nodes));
  perform plait._insert_jobs(
    p_now => p_now, p_ids => v_ids, p_definitions => array[d.on_node],
    p_payloads => array_fill(p_job.payload, array[v_total]), p_source => 'system',
    p_tenant => p_job.tenant_id, p_queues => array[p_job.queue],
    p_priorities => array[p_job.priority::int],
    p_max_attempts => array[coalesce(n.max_attempts, p_job.max_attempts)::int],
    p_correlation_id => p_job.correlation_id, p_metered => p_metered, p_fan_out => f,
    p_nodes => v_nodes);
  if p_metered then
    perform plait._reserve_quota(p_job.tenant_id, v_total, true);
  end if;
  perform plait._store_search_values(v_ids, array[d.on_node]);
  insert into plait.steps (
    job_id, tenant_id, fan_out_id, at, seq, occurrence, attempt, done, name, kind)
  values (p_job.id, p_job.tenant_id, v_id, p_now, p_seq, 1, p_attempt, false, 'nodes', 'fan_out');
  perform plait._wake_workers(array[p_job.queue], p_always);
  return v_id;
end $$;
