-- open_stream: store a token that allows reading the streams of one job, and nothing else.
--
--   moves    nothing
--   locks    expired tokens, SKIP LOCKED
--   raises   PL008 if the caller can see no such job, PL012 if the time to live is null, not
--            positive or more than 31 days, or if the hash is null
--   called   plait.store.streams.open_stream
create or replace function plait.open_stream(
  p_job uuid, p_hash text, p_ttl interval, p_tenant uuid default null,
  p_redacted boolean default false
) returns timestamptz
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now    timestamptz := plait.now();
  v_tenant uuid := plait._tenant(p_tenant);
begin
  if p_ttl is null or p_ttl <= interval '0' or p_ttl > interval '31 days' then
    raise exception 'a stream token''s time to live must be more than 0 and at most 31 days, got %',
      coalesce(p_ttl::text, 'null') using errcode = 'PL012';
  end if;
  if p_hash is null or p_redacted is null then
    raise exception 'hash and redacted must not be null'
      using errcode = 'PL012';
  end if;
  perform from plait.jobs where id = p_job and tenant_id = v_tenant;
  if not found then
    raise exception 'there is no job %', p_job using errcode = 'PL008';
  end if;
  delete from plait.job_tokens
  where hash in (
    select t.hash
    from plait.job_tokens t
    where t.expires_at <= v_now and t.kind = 'stream' limit 100 for update skip locked);
  insert into plait.job_tokens (hash, tenant_id, job_id, created_at, expires_at, redacted, kind)
  values (p_hash, v_tenant, p_job, v_now, v_now + p_ttl, p_redacted, 'stream');
  return v_now + p_ttl;
end $$;
