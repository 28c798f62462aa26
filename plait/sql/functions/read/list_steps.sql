-- list_steps: the steps of a durable job, in order, with the state of its fan-outs.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.list_steps, users
--
--   select seq, name, done, took_s from plait.list_steps(:'job');
--
-- at: when a call or transaction was checkpointed, or when a wait began. started_at and took_s:
-- when the step began, and how long it took. A call or transaction ran in the worker, which
-- measured it; a fan-out took until its decision, a sleep until it was due, a wait for a signal
-- until the signal or the timeout. Null: not known, as for a step that is not done, or one that a
-- fork copied.
create or replace function plait.list_steps(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns table (
  seq int, name text, occurrence int, kind text, attempt int, at timestamptz, done boolean,
  due_at timestamptz, value text, error text, fan_out_id uuid, strategy text, decision text,
  total int, succeeded int, failed int, canceled int, timeout_at timestamptz,
  started_at timestamptz, took_s float8)
language plpgsql stable security definer set search_path = plait, pg_temp as $$
#variable_conflict use_column
declare v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  return query
    select s.seq, s.name, s.occurrence, s.kind, s.attempt, s.at, s.done, s.due_at, s.value::text,
           s.error, s.fan_out_id, f.strategy, f.decision, f.total, f.succeeded, f.failed,
           f.canceled, f.timeout_at,
           case when s.kind in ('call', 'transaction') then s.at - make_interval(secs => s.took_s)
                when s.kind in ('fan_out', 'stream') then f.created_at
                when s.kind in ('sleep', 'timer', 'signal') then s.at end,
           case when s.took_s is not null then s.took_s::float8
                when s.kind in ('fan_out', 'stream') then
                  extract(epoch from f.decided_at - f.created_at)::float8
                when not s.done then null
                when s.kind = 'signal' and s.signal_id is not null then
                  (select greatest(extract(epoch from g.sent_at - s.at)::float8, 0)
                   from plait.signals g
                   where g.job_id = s.job_id and g.id = s.signal_id)
                when s.kind in ('sleep', 'timer', 'signal') and s.due_at > s.at then
                  extract(epoch from s.due_at - s.at)::float8 end
    from plait.steps s
    left join plait.fan_outs f on f.id = s.fan_out_id
    where s.job_id = p_job
    order by s.seq, s.name, s.occurrence;
end $$;
