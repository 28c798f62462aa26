-- worker_key: the id of the API key that registered a live worker; null if there is none.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.workers.worker_key
create or replace function plait.worker_key(p_worker int) returns uuid
language sql stable security definer set search_path = plait, pg_temp as $$
  select (metadata ->> 'key')::uuid from plait.workers where id = p_worker and state = 'alive'
$$;
