-- store_reply: store the reply to a request with an Idempotency-Key.
--
--   moves    nothing
--   locks    the reply's row
--   raises   nothing
--   called   plait.store.http_replies.keep
--
-- If p_status is null, the reservation is deleted and the request may begin again immediately.
create or replace function plait.store_reply(
  p_tenant uuid, p_key_id uuid, p_key text, p_status int, p_body text
) returns void
language plpgsql security definer set search_path = plait, pg_temp as $$
begin
  if p_status is null then
    delete from plait.replies
    where tenant_id = p_tenant and key_id = p_key_id and key = p_key and status is null;
  else
    update plait.replies set status = p_status, body = p_body
    where tenant_id = p_tenant and key_id = p_key_id and key = p_key;
  end if;
end $$;
