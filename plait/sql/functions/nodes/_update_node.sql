-- _update_node: update a node's state after one of its workers stopped, was lost or began to drain.
--
--   moves    nothing
--   locks    the node's row, so that the update sees a worker that registers at the same time
--   raises   nothing
--   called   after_restore, drain, leave, rescue
create or replace function plait._update_node(p_node text, p_state text) returns void
language plpgsql as $$
begin
  perform from plait.nodes where name = p_node for no key update;
  update plait.nodes set
    state = case
      when exists (select from plait.workers w
                   where w.node = p_node and w.state = 'alive' and not w.draining) then 'active'
      when exists (select from plait.workers w where w.node = p_node and w.state = 'alive') then
        'draining'
      else p_state end
  where name = p_node;
end $$;
