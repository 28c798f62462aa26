-- save_steps: checkpoint results of steps of running jobs, for a whole process in one call.
--
--   moves    nothing
--   locks    live rows FOR KEY SHARE, in id order: until this commits, the worker can't lose the
--            job, because rescue and settle lock the row FOR UPDATE. Users' calls, which lock it
--            FOR NO KEY UPDATE (cancel, signal, spawn, after), do not conflict
--   raises   check violations, and errors for values that are not JSON
--   called   plait.sdk.steps._run_in_transaction, plait.store.workflows.save_steps
--
-- p_done: false for a step whose branch was canceled before it ended: it is neither run nor
-- delivered again. p_took_s: how long each step ran, as its worker measured it. Returns the
-- positions of steps whose lease is lost: nothing was written for them. The call can be repeated. A
-- job that runs its steps in sequence sends them one by one, and that case needs no joins.
create or replace function plait.save_steps(
  p_worker int, p_jobs uuid[], p_attempts int[], p_names text[], p_occurrences int[], p_seqs int[],
  p_kinds text[], p_hashes text[] default null, p_values text[] default null,
  p_errors text[] default null, p_branches text[] default null, p_finished int[] default null,
  p_done boolean[] default null, p_took_s real[] default null
) returns int[]
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid;
  v_stale  int[];
begin
  if cardinality(p_jobs) = 1 then
    select l.tenant_id into v_tenant
    from plait.live l
    where l.job_id = p_jobs[1] and l.attempt = p_attempts[1] and l.worker = p_worker
      and (
        l.lane not in ('leader', 'suspect:leader') or plait._still_leads(p_worker, l.run_at, false))
    for key share;
    if not found then
      return array[1];
    end if;
    insert into plait.steps (
      job_id, tenant_id, at, seq, occurrence, attempt, name, kind, hash, value, error, branch,
      finished, done, took_s)
    values (p_jobs[1], v_tenant, v_now, p_seqs[1], p_occurrences[1], p_attempts[1], p_names[1],
            p_kinds[1], p_hashes[1], p_values[1]::json, p_errors[1], coalesce(p_branches[1], ''),
            p_finished[1], coalesce(p_done[1], true), p_took_s[1])
    on conflict do nothing;
    return null;
  end if;
  with held as materialized (
    select l.job_id, l.attempt, l.tenant_id
    from plait.live l
    where l.job_id = any(p_jobs) and l.worker + 0 = p_worker
      and (
        l.lane not in ('leader', 'suspect:leader') or plait._still_leads(p_worker, l.run_at, false))
    order by l.job_id for key share
  ), x as materialized (
    select i.*, h.tenant_id
    from unnest(p_jobs, p_attempts, p_names, p_occurrences, p_seqs, p_kinds, p_hashes, p_values,
                p_errors, p_branches, p_finished, p_done, p_took_s) with ordinality
         i(job_id, attempt, name, occurrence, seq, kind, hash, value, error, branch, finished, done,
           took_s, n)
    left join held h on h.job_id = i.job_id and h.attempt = i.attempt
  ), saved as (
    insert into plait.steps (
      job_id, tenant_id, at, seq, occurrence, attempt, name, kind, hash, value, error, branch,
      finished, done, took_s)
    select x.job_id, x.tenant_id, v_now, x.seq, x.occurrence, x.attempt, x.name, x.kind, x.hash,
           x.value::json, x.error, coalesce(x.branch, ''), x.finished, coalesce(x.done, true),
           x.took_s
    from x
    where x.tenant_id is not null
    on conflict do nothing
  )
  select array_agg(x.n::int) into v_stale from x where x.tenant_id is null;
  return v_stale;
end $$;
