-- register_artifact: register an artifact of a job, before its bytes are stored.
--
--   moves    nothing
--   locks    nothing
--   raises   PL001 for an invalid hash, size or kind; PL003, PL004 as every call that names a
--            tenant
--   called   plait.store.artifacts.register_artifact
--
-- The artifact is registered before its bytes are stored, so bytes that a crash leaves behind can
-- be found and removed. The call can be repeated, for example if its reply was lost. A user's
-- transaction may create the job later, but the job must exist within a day.
create or replace function plait.register_artifact(
  p_job uuid, p_kind text, p_sha256 text, p_size bigint, p_tenant uuid default null
) returns uuid
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid := plait._tenant(p_tenant);
  v_id     uuid;
begin
  perform plait._require_read_committed();
  if p_job is null or p_kind is null or p_sha256 is null or p_size is null then
    raise exception 'an artifact must have a job, a kind, a hash and a size'
      using errcode = 'PL001';
  end if;
  if not exists (select from plait.tenants where id = v_tenant) then
    raise exception 'there is no tenant %', v_tenant using errcode = 'PL003';
  end if;
  insert into plait.artifacts as a (
    id, tenant_id, job_id, created_at, expires_at, size, kind, sha256)
  values (
    plait.uuidv7(), v_tenant, p_job, v_now, v_now + interval '1 day', p_size, p_kind, p_sha256)
  on conflict (tenant_id, job_id, kind, sha256)
  where doomed_at is null do update set expires_at = excluded.expires_at
  returning id into v_id;
  return v_id;
exception when check_violation then
  raise exception 'an artifact must have the kind payload, result, step or signal, a SHA-256 hash in hex, and a positive size'
    using errcode = 'PL001';
end $$;
