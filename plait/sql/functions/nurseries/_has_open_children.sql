-- _has_open_children: whether any child that a job spawned, in any nursery, is not final.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   has_pending_children, rescue, _retry, _settle, _settle_tied
create or replace function plait._has_open_children(p_job uuid) returns boolean
language sql volatile as $$
  select exists (select from plait.fan_outs f where f.parent_id = p_job and f.strategy = 'nursery'
                   and f.succeeded + f.failed + f.canceled < f.total)
$$;
