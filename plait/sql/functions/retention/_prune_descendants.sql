-- _prune_descendants: delete up to p_limit jobs of a workflow, deepest first; the root stays.
--
--   moves    nothing
--   locks    the caller holds the root's row, so that no descendant can be retried
--   raises   nothing
--   called   prune
create or replace function plait._prune_descendants(
  p_root uuid, p_limit int, p_archive boolean, out o_pruned int, out o_archive text[]
)
language plpgsql as $$
declare v_jobs uuid[];
begin
  v_jobs := array(select j.id
                  from plait.jobs j
                  where j.root_id = p_root
                  order by j.fan_out_id desc, j.fan_out_index desc limit p_limit);
  o_archive := plait._delete_jobs(v_jobs, p_archive);
  o_pruned := cardinality(v_jobs);
end $$;
