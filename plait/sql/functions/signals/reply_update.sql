-- reply_update: reply once to an update, from a running job, with a value or a rejection.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE
--   raises   PL001 for a value of more than 1 MiB
--   called   plait.store.signals.reply_update
--
-- The first reply counts. Returns false when the lease is lost. The call can be repeated.
create or replace function plait.reply_update(
  p_worker int, p_job uuid, p_attempt int, p_id uuid, p_value json default null,
  p_error text default null
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_tenant uuid;
begin
  perform plait._require_read_committed();
  if octet_length(p_value::text) > 1048576 then
    raise exception 'the reply to an update must be JSON of at most 1 MiB' using errcode = 'PL001';
  end if;
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker
  for key share;
  if not found then
    return false;
  end if;
  insert into plait.update_replies (job_id, id, tenant_id, at, value, error)
  values (p_job, p_id, v_tenant, plait.now(), p_value, left(p_error, 4000)) on conflict do nothing;
  return true;
end $$;
