-- list_logs: the log lines of a job's attempts: printed or logged by its handler.
--
--   moves    nothing
--   locks    nothing
--   raises   PL008 when the caller has no such job, PL012 for an unknown level
--   called   plait.store.logs.list_logs, users
--
--   p_attempt   only lines of this attempt. Default: all attempts
--   p_level     only lines of this level and above
--   p_after     `{attempt, line}`: return the first lines after this one
--   p_before    `{attempt, line}`: return the last lines before this one
--
-- Without p_after and p_before, the last lines are returned. The order is that of attempts and
-- lines.
--
--   select attempt, at, level, message from plait.list_logs(:'job', p_level => 'warning');
create or replace function plait.list_logs(
  p_job uuid, p_tenant uuid default null, p_all boolean default false, p_attempt int default null,
  p_level text default 'debug', p_after int[] default null, p_before int[] default null,
  p_limit int default 1000
) returns table (attempt int, line int, at timestamptz, level text, source text, logger text,
                 message text, fields text)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  c_levels constant text[] := array['debug', 'info', 'warning', 'error', 'critical'];
  v_tenant uuid := plait._tenant_or_all(p_tenant, p_all);
  v_levels text[] := c_levels[array_position(c_levels, p_level):];
  v_limit  int := plait._page_size(p_limit);
begin
  if not exists (select from plait.jobs j
                 where j.id = p_job and (v_tenant is null or j.tenant_id = v_tenant)) then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  if array_position(c_levels, p_level) is null then
    raise exception 'level must be %, got %', array_to_string(c_levels, ', '),
      coalesce(p_level, 'null') using errcode = 'PL012';
  end if;
  if p_after is not null then
    return query
      select t.attempt, t.line, t.at, t.level, t.source, t.logger, t.message, t.fields::text
      from plait.log_lines t
      where t.job_id = p_job and (t.attempt, t.line) > (p_after[1], p_after[2])
        and (p_attempt is null or t.attempt = p_attempt) and t.level = any(v_levels)
      order by t.job_id, t.attempt, t.line limit v_limit;
    return;
  end if;
  return query
    select * from (
      select t.attempt, t.line, t.at, t.level, t.source, t.logger, t.message, t.fields::text
      from plait.log_lines t
      where t.job_id = p_job
        and (p_before is null or (t.attempt, t.line) < (p_before[1], p_before[2]))
        and (p_attempt is null or t.attempt = p_attempt) and t.level = any(v_levels)
      order by t.job_id desc, t.attempt desc, t.line desc limit v_limit) t
    order by t.attempt, t.line;
end $$;
