-- _all_skipped: whether all successful children of a node job's fan-out were skipped.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _apply_strategy, _node_job_outcome
create or replace function plait._all_skipped(p_fan_out plait.fan_outs) returns boolean
language sql stable set enable_seqscan = off as $$
  select not exists (
    select from plait.jobs j join plait.attempts a on a.job_id = j.id
    where j.root_id = p_fan_out.root_id and j.fan_out_id = p_fan_out.id and a.final = 'succeeded')
$$;
