-- _unsuccessful_children: the children of a fan-out that are final and did not succeed.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   retry_tree
create or replace function plait._unsuccessful_children(p_fan_out plait.fan_outs) returns uuid[]
language sql stable as $$
  select array(
    select c.id
    from plait.jobs c
    cross join lateral (
      select a.final from plait.attempts a where a.job_id = c.id order by a.attempt desc limit 1) a
    where c.root_id = p_fan_out.root_id and c.fan_out_id = p_fan_out.id
      and a.final in ('failed', 'dead_letter', 'canceled')
      and not exists (select from plait.live l where l.job_id = c.id)) $$;
