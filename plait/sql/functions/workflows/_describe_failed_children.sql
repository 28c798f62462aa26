-- _describe_failed_children: a sentence that names the first ten children that did not succeed.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _node_job_outcome, _resume_or_end_parent
--
-- It covers this fan-out (the job's own nursery or its nodes) and nurseries that an error
-- interrupted. The handler has read the outcomes of all other children.
create or replace function plait._describe_failed_children(p_fan_out plait.fan_outs) returns text
language sql stable set enable_seqscan = off as $$
  with n as (
    select f.id, f.total, f.failed + f.canceled as lost
    from plait.fan_outs f
    where f.parent_id = p_fan_out.parent_id
      and (f.id = p_fan_out.id or f.strategy = 'nursery' and f.decided_at is null)
  )
  select format('%s of %s children did not succeed: %s%s', (select sum(lost) from n),
                (select sum(total) from n),
                string_agg(format('%s %s %s%s', c.definition, c.id, c.final,
                                  coalesce(': ' || left(coalesce(c.error, c.reason), 200), '')),
                           '; '
                           order by c.id),
                (select format(' and %s more', sum(lost) - 10) from n having sum(lost) > 10))
  from (select o.*
        from n
        cross join lateral (
          select j.id, j.definition, a.final, a.error, a.reason
          from plait.jobs j
          cross join lateral (select t.final, t.error, t.reason
                              from plait.attempts t
                              where t.job_id = j.id
                              order by t.attempt desc limit 1) a
          where j.root_id = p_fan_out.root_id and j.fan_out_id = n.id
            and a.final in ('failed', 'dead_letter', 'canceled')
          order by j.fan_out_index limit 10) o
        order by o.id limit 10) c $$;
