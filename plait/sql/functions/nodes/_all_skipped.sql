-- _all_skipped: whether all ended children of a fan-out that succeeded were skipped. For node jobs.
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
