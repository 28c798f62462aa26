-- after: add a follow-up: a job that is enqueued in the transaction in which this job succeeds.
--
--   moves    nothing
--   locks    the same as _add_follow_ups
--   raises   the same as _add_follow_ups; PL003 and PL004 for a tenant, PL008 if the caller can see
--            no such job
--   called   users
--
--   job   id of the job that must succeed first
--
--   select plait.after(:'job', 'analyze_tables', dedupe_key => 'analyze_tables');
--
-- The follow-up is enqueued exactly once. Returns the id that it will have. If another job holds
-- its dedupe key by then, no job gets this id.
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
    p_job => j, p_ids => array[v_id], p_definitions => array["after".definition],
    p_payloads => array["after".payload::text], p_queues => array["after".queue],
    p_priorities => array["after".priority], p_max_attempts => array["after".max_attempts],
    p_timeouts_s => array[extract(epoch from "after".timeout)::float8],
    p_delays_s => array[extract(epoch from "after".delay)::float8],
    p_dedupe_keys => case when "after".dedupe_key is not null then array["after".dedupe_key] end,
    p_limit_keys => array["after".limit_key]);
  return v_id;
end $$;
