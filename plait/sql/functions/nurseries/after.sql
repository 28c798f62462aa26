-- after: add a follow-up: a job that is enqueued in the transaction in which this one succeeds.
--
--   moves    nothing
--   locks    as _add_follow_ups
--   raises   as _add_follow_ups; PL003 and PL004 for a tenant, PL008 when the caller has no such
--            job
--   called   users
--
--   select plait.after(task_id, 'analyze_tables', dedupe_key => 'analyze_tables');
--
-- Exactly once. Returns the id that it will have, unless another job holds its dedupe key then.
create or replace function plait.after(
  job uuid, definition text, payload json default '{}', tenant text default null,
  queue text default null, priority int default null, max_attempts int default null,
  timeout interval default null, delay interval default null, dedupe_key text default null,
  limit_key text default null, id uuid default null
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_id     uuid := coalesce("after".id, plait.uuidv7());
  v_tenant uuid := plait._tenant(
    case when "after".tenant is not null then plait.tenant_id("after".tenant) end);
  j        plait.jobs;
begin
  perform plait._require_read_committed();
  select * into j from plait.jobs where jobs.id = "after".job and jobs.tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', "after".job using errcode = 'PL008';
  end if;
  perform plait._add_follow_ups(
    j, array[v_id], array["after".definition], array["after".payload::text], array["after".queue],
    array["after".priority], array["after".max_attempts],
    array[extract(epoch from "after".timeout)::float8],
    array[extract(epoch from "after".delay)::float8],
    case when "after".dedupe_key is not null then array["after".dedupe_key] end,
    array["after".limit_key]);
  return v_id;
end $$;
