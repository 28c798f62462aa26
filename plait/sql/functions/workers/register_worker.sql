-- register_worker: begin a worker's lease. The new id fences all writes under earlier ids.
--
--   moves    nothing
--   locks    its node's row; inserts the notification locks of its queues
--   raises   PL012 for a lease that is not positive, an invalid build, or an invalid node name,
--            address or label
--   called   plait.store.workers.register
--
-- p_node: the worker joins this node and adds it to the cluster. If no other worker of the node is
-- alive, the node's address and labels are replaced or removed. Otherwise only an address or labels
-- that are given replace the stored ones. p_holder: the name of the worker's process in leader
-- elections. p_build: durable jobs that start on this worker continue on workers of the same build.
create or replace function plait.register_worker(
  p_host text, p_pid int, p_version text, p_queues text[], p_definitions text[],
  p_lease_s float8 default 30, p_metadata json default '{}', p_node text default null,
  p_holder text default null, p_labels json default null, p_url text default null,
  p_build text default null
) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id    int;
  v_alone boolean := not exists (
    select from plait.workers w
    where w.node = p_node and w.state = 'alive' and w.expires_at > plait.now());
begin
  if p_lease_s is null or p_lease_s <= 0 or p_lease_s > 86400 then
    raise exception 'a lease must be more than 0 s and at most one day, got % s', p_lease_s
      using errcode = 'PL012';
  end if;
  if p_build !~ '^[A-Za-z0-9_.:+-]{1,100}$' then
    raise exception 'a build name must be 1 to 100 letters, digits and _ . : + -, got %',
      quote_literal(left(p_build, 120)) using errcode = 'PL012';
  end if;
  if p_node is not null then
    insert into plait.nodes as n (name, url, labels)
    values (p_node, p_url, coalesce(p_labels::jsonb, '{}'))
    on conflict (name) do update set
      state = 'active',
      url = case when v_alone then excluded.url else coalesce(excluded.url, n.url) end,
      labels = case when v_alone then excluded.labels else coalesce(p_labels::jsonb, n.labels) end,
      joined_at = case when n.state in ('lost', 'left') then plait.now() else n.joined_at end;
  end if;
  insert into plait.locks (name)
  select distinct 'wake ' || q
  from unnest(p_queues) q
  where q is not null
  order by 1
  on conflict do nothing;
  insert into plait.workers (
    host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at,
    node, holder, build)
  values (p_host, p_pid, p_version, p_queues, p_definitions, p_metadata, p_lease_s, plait.now(),
          plait.now(), plait.now() + make_interval(secs => p_lease_s), p_node, p_holder, p_build)
  returning id into v_id;
  return v_id;
exception when check_violation then
  raise exception 'a node must have a name of 1 to 100 letters, digits and _ . : -, an address of at most 500 characters, and a JSON object of labels'
    using errcode = 'PL012';
end $$;
