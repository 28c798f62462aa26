-- authenticate_stream: check a stream token of a job. No row if it is unknown or has expired.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.streams.authenticate_stream
create or replace function plait.authenticate_stream(p_hash text, p_job uuid)
returns table (tenant_id uuid, redacted boolean) language sql stable security definer
set search_path = plait, pg_temp as $$
  select t.tenant_id, t.redacted from plait.job_tokens t
  where t.hash = p_hash and t.job_id = p_job and t.kind = 'stream' and t.expires_at > plait.now()
$$;
