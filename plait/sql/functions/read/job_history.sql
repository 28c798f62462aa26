-- job_history: everything that a replay of a durable job needs, as one JSON document.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 if the caller can see no such job
--   called   plait.store.jobs.job_history, users
--
--   select plait.job_history(:'job');
--
-- It contains the job's payload and steps, and the outcomes of its children and dependencies.
-- `format` is 1. The children of a fan-out are in the order in which the handler reads them. Large
-- results are references to artifacts.
create or replace function plait.job_history(
  p_job uuid, p_tenant uuid default null, p_all boolean default false
) returns json
language plpgsql stable security definer set search_path = plait, pg_temp set enable_seqscan = off
set enable_mergejoin = off as $$
declare j plait.job;
begin
  select * into j from plait.get_job(p_job, p_tenant, p_all);
  return json_build_object(
    'format', 1, 'job_id', j.id, 'tenant_id', j.tenant_id, 'definition', j.definition,
    'queue', j.queue, 'correlation_id', j.correlation_id, 'status', j.status, 'attempt', j.attempt,
    'max_attempts', j.max_attempts, 'payload', j.payload,
    'steps',
      coalesce(
        (
          select json_agg(
            json_build_object(
              'branch', s.branch, 'name', s.name, 'occurrence', s.occurrence, 'seq', s.seq,
              'finished', s.finished, 'kind', s.kind, 'hash', s.hash, 'value', s.value,
              'error', s.error, 'done', s.done, 'due_at', s.due_at, 'fan_out_id', s.fan_out_id,
              'decision', f.decision, 'decided_ended', f.decided_ended, 'total', f.total)
            order by s.seq, s.branch, s.name, s.occurrence)
          from plait.steps s
          left join plait.fan_outs f on f.id = s.fan_out_id
          where s.job_id = p_job),
        '[]'),
    'children',
      coalesce(
        (
          select json_agg(json_build_object(
                            'fan_out_id', f.id, 'position', coalesce(o.position, c.fan_out_index),
                            'index', c.fan_out_index, 'job_id', c.id, 'definition', c.definition,
                            'status', a.final, 'result', a.result, 'error', a.error,
                            'reason', a.reason, 'attempt', a.attempt)
                          order by f.id, coalesce(o.position, c.fan_out_index))
          from plait.fan_outs f
          join plait.jobs c on c.root_id = f.root_id and c.fan_out_id = f.id
          left join plait.fan_out_order o
            on o.fan_out_id = f.id and o.fan_out_index = c.fan_out_index
          cross join lateral (select t.*
                              from plait.attempts t
                              where t.job_id = c.id
                              order by t.attempt desc limit 1) a
          where f.id in (select s.fan_out_id from plait.steps s where s.job_id = p_job)
            and a.final is not null and not exists (select from plait.live l where l.job_id = c.id)
            and (not f.streamed or o.position <= coalesce(f.decided_ended, o.position))
            and (f.streamed or f.left_open is null or not c.fan_out_index = any(f.left_open))),
        '[]'),
    'dependencies',
      coalesce((
                 select json_agg(json_build_object(
                                   'index', d.index, 'job_id', d.job_id, 'definition', d.definition,
                                   'status', d.status, 'result', d.result::json, 'error', d.error,
                                   'reason', d.reason, 'attempt', d.attempt)
                                 order by d.index)
                 from plait.list_dependencies(p_job, j.tenant_id, p_bytes => 1000000000) d),
               '[]'));
end $$;
