-- open_link: create an approval link for a running job. The token of the link sends one signal.
--
--   moves    nothing
--   locks    the live row FOR KEY SHARE
--   raises   PL001 for a payload of more than 1 MiB, PL012 for a time to live that is not positive
--   called   plait.store.approvals.open_link
--
-- The link works until it expires. Returns false when the lease is lost. The call can be repeated:
-- an existing token is left unchanged.
create or replace function plait.open_link(
  p_worker int, p_job uuid, p_attempt int, p_hash text, p_signal text, p_payload json,
  p_expires_s float8, p_message text, p_button text
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid;
begin
  perform plait._require_read_committed();
  if octet_length(p_payload::text) > 1048576 then
    raise exception 'the payload of an approval link must be JSON of at most 1 MiB'
      using errcode = 'PL001';
  end if;
  if p_expires_s is null or p_expires_s <= 0 then
    raise exception 'an approval link''s time to live must be more than 0 s, got %',
      coalesce(p_expires_s::text, 'null') using errcode = 'PL012';
  end if;
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running' and worker = p_worker
  for key share;
  if not found then
    return false;
  end if;
  insert into plait.job_tokens (
    hash, tenant_id, job_id, created_at, expires_at, kind, signal, message, button, payload)
  values (p_hash, v_tenant, p_job, v_now, v_now + make_interval(secs => p_expires_s), 'signal',
          p_signal, p_message, p_button, p_payload)
  on conflict do nothing;
  return true;
end $$;
