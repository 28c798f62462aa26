-- step_values: the values of steps that resume_steps left out, starting with the given step.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: without the lease, one row without a name
--   called   plait.store.workflows.step_values
--
-- A page ends with the row at which its values reach p_bytes, and has at least one row.
create or replace function plait.step_values(
  p_worker int, p_job uuid, p_attempt int, p_branch text, p_name text, p_occurrence int, p_seq int,
  p_bytes int default 8388608
) returns table (branch text, name text, occurrence int, value text)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_value json;
  v_bytes bigint := 0;
begin
  if not exists (select from plait.live l
                 where l.job_id = p_job and l.attempt = p_attempt and l.worker = p_worker) then
    return next;
    return;
  end if;
  for branch, name, occurrence, v_value in
    select s.branch, s.name, s.occurrence, s.value
    from plait.steps s
    where s.job_id = p_job and s.seq >= p_seq and s.value is not null
    order by (s.branch, s.name, s.occurrence) = (p_branch, p_name, p_occurrence) desc, s.seq,
      s.branch, s.name, s.occurrence
  loop
    value := v_value;
    return next;
    v_bytes := v_bytes + octet_length(value);
    exit when v_bytes >= p_bytes;
  end loop;
end $$;
