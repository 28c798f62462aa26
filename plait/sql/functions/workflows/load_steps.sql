-- load_steps: the steps of a durable job, in order, with the state of fan-outs.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: without the lease, one row without a name
--   called   nothing
create or replace function plait.load_steps(p_worker int, p_job uuid, p_attempt int)
returns table (name text, occurrence int, seq int, kind text, hash text, value text, error text, done boolean, overlapping boolean,
               due_at timestamptz, due boolean, fan_out_id uuid, decision text, decided_ended int, total int, strategy text)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
begin
  if not exists (select from plait.live l where l.job_id = p_job and l.attempt = p_attempt and l.worker = p_worker) then
    return next;
    return;
  end if;
  return query
    select s.name, s.occurrence, s.seq, s.kind, s.hash, s.value::text, s.error, s.done, s.overlapping,
           s.due_at, s.due_at <= plait.now(), s.fan_out_id, f.decision, f.decided_ended, f.total, f.strategy
    from plait.steps s left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job
    order by s.seq, s.name, s.occurrence;
end $$;
