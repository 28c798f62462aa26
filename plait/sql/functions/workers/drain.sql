-- drain: mark a worker that will stop, so that new node jobs do not include its node.
--
--   moves    nothing
--   locks    the worker's row, then its node's row
--   raises   nothing
--   called   plait.store.workers.drain
create or replace function plait.drain(p_worker int) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_node text;
begin
  update plait.workers set draining = true
  where id = p_worker and state = 'alive'
  returning node into v_node;
  if v_node is not null then
    perform plait._update_node(v_node, 'draining');
  end if;
end $$;
