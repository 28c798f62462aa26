-- register_worker: a worker's lease begins. Its id is new each time, so whatever an earlier life still sends matches nothing.
--
--   moves    nothing
--   locks    nothing
--   raises   PL012 for a lease that is not positive
--   called   plait.store.workers.register
create or replace function plait.register_worker(
  p_host text, p_pid int, p_version text, p_queues text[], p_definitions text[], p_lease_s float8 default 30, p_metadata json default '{}'
) returns int
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_id int;
begin
  if p_lease_s is null or p_lease_s <= 0 or p_lease_s > 86400 then
    raise exception 'a lease is between 0 s and a day, not % s', p_lease_s using errcode = 'PL012';
  end if;
  insert into plait.workers (host, pid, version, queues, definitions, metadata, lease_s, started_at, seen_at, expires_at)
  values (p_host, p_pid, p_version, p_queues, p_definitions, p_metadata, p_lease_s, plait.now(), plait.now(),
          plait.now() + make_interval(secs => p_lease_s))
  returning id into v_id;
  return v_id;
end $$;
