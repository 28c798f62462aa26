-- _page_size: how many rows a list returns: the number requested, at most p_most. Null: p_most.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for a negative number
--   called   failures, job_tree, list_audit, list_children, list_events, list_fan_outs, list_fires,
--            list_keys, list_logs, search_jobs, worker_history
create or replace function plait._page_size(p_limit int, p_most int default 1000) returns int
language plpgsql immutable as $$
begin
  if p_limit < 0 then
    raise exception 'limit must be between 0 and %, got %', p_most, p_limit using errcode = 'PL001';
  end if;
  return least(p_limit, p_most);
end $$;
