-- _archive: final jobs with all their attempts, steps, signals and fan-outs, one JSON line each.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   _delete_jobs
--
-- Payloads, results and steps are written as they are stored. Line breaks occur only between JSON
-- tokens, so they are replaced by spaces.
create or replace function plait._archive(p_jobs uuid[]) returns text[]
language sql stable as $$
  select array_agg(
    translate(
      json_build_object(
        'tenant', coalesce(t.slug, j.tenant_id::text), 'status', a.final, 'finished_at',
        a.finished_at, 'job', to_json(j), 'attempts',
        (select json_agg(x order by x.attempt) from plait.attempts x where x.job_id = j.id),
        'steps', (select json_agg(x order by x.seq) from plait.steps x where x.job_id = j.id),
        'signals',
        (select json_agg(x order by x.sent_at, x.id) from plait.signals x where x.job_id = j.id),
        'fan_outs',
        (select json_agg(x order by x.id) from plait.fan_outs x where x.parent_id = j.id)
      )::text,
      E'\n\r', '  ')
    order by j.id)
  from plait.jobs j
  left join plait.tenants t on t.id = j.tenant_id
  cross join lateral (select a.final, a.finished_at
                      from plait.attempts a
                      where a.job_id = j.id
                      order by a.attempt desc limit 1) a
  where j.id = any(p_jobs)
$$;
