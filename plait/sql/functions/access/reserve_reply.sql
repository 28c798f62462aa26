-- reserve_reply: begin a request that has an Idempotency-Key, or return its earlier reply.
--
--   moves    nothing
--   locks    the reply's row: only one of two concurrent requests begins
--   raises   PL001 for an invalid key, PL006 if the key was used with another request
--   called   plait.store.http_replies.reserve
--
-- If o_begun is true, the caller must execute the request now. Otherwise o_status and o_body are
-- the stored reply; if they are null, another process is executing the request. A request without a
-- reply may begin again after a minute, because its process may have died. The verbs that it calls
-- are safe to repeat.
create or replace function plait.reserve_reply(
  p_tenant uuid, p_key_id uuid, p_key text, p_hash text, out o_begun boolean, out o_status int,
  out o_body text
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now timestamptz := plait.now();
  r     plait.replies;
begin
  if p_key is null or length(p_key) not between 1 and 500 then
    raise exception 'an idempotency key must have 1 to 500 characters' using errcode = 'PL001';
  end if;
  delete from plait.replies
  where (tenant_id, key_id, key) in (
    select x.tenant_id, x.key_id, x.key
    from plait.replies x
    where x.expires_at <= v_now limit 100 for update skip locked);
  insert into plait.replies (tenant_id, key_id, key, hash, at, expires_at)
  values (p_tenant, p_key_id, p_key, p_hash, v_now, v_now + interval '1 day')
  on conflict do nothing;
  if found then
    o_begun := true;
    return;
  end if;
  select * into r
  from plait.replies
  where tenant_id = p_tenant and key_id = p_key_id and key = p_key for update;
  if r.hash is distinct from p_hash then
    raise exception 'this idempotency key was used with another request: use a new key'
      using errcode = 'PL006';
  end if;
  o_begun := r.status is null and r.at < v_now - interval '1 minute';
  if o_begun then
    update plait.replies set at = v_now
    where tenant_id = p_tenant and key_id = p_key_id and key = p_key;
  end if;
  o_status := r.status;
  o_body := r.body;
end $$;
