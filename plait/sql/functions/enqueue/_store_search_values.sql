-- _store_search_values: store the values of new jobs under their definitions' search keys.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   continue_as_new, _enqueue_follow_ups, enqueue_many, fork, open_fan_out, _open_nodes,
--            _spawn
--
-- Called once by each function that creates jobs, in the same transaction. If no definition
-- declares search keys, the call costs one lookup of p_definitions. Values are truncated to 200
-- characters, because the search also compares the payload itself.
create or replace function plait._store_search_values(p_jobs uuid[], p_definitions text[])
returns void language plpgsql as $$
begin
  if exists (select from plait.definitions d
             where d.search_keys is not null and d.name = any(p_definitions)) then
    insert into plait.search_values (tenant_id, definition, key, value, job_id)
    select j.tenant_id, j.definition, k, left(v, 200), j.id
    from plait.jobs j
    join plait.definitions d
      on d.name = j.definition, unnest(d.search_keys) k, plait._payload_value(j.payload, k) v
    where j.id = any(p_jobs) and v is not null
    on conflict do nothing;
  end if;
end $$;
