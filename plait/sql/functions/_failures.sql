-- _failures: which children of a nursery did not succeed, in a sentence: the first ten by name, and how many more.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _resume_parent
create or replace function plait._failures(p_fan_out plait.fan_outs) returns text
language sql stable set enable_seqscan = off as $$
  select format('%s of %s children did not succeed: %s%s', p_fan_out.failed + p_fan_out.canceled, p_fan_out.total,
                string_agg(format('%s %s %s%s', c.definition, c.id, c.final, coalesce(': ' || left(coalesce(c.error, c.reason), 200), '')), '; '
                           order by c.fan_out_index),
                case when p_fan_out.failed + p_fan_out.canceled > 10 then format(' and %s more', p_fan_out.failed + p_fan_out.canceled - 10) end)
  from (select j.id, j.definition, j.fan_out_index, a.final, a.error, a.reason from plait.jobs j
        cross join lateral (select t.final, t.error, t.reason from plait.attempts t where t.job_id = j.id order by t.attempt desc limit 1) a
        where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and a.final in ('failed', 'dead_letter', 'canceled')
        order by j.fan_out_index limit 10) c
$$;
