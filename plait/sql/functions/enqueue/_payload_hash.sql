-- _payload_hash: a hash that is equal for payloads that are equal as JSON.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: a payload that jsonb rejects (NUL, huge numbers) is hashed as text
--   called   _insert_keys
--
-- Called for jobs with an idempotency key.
create or replace function plait._payload_hash(p_payload text) returns text
language plpgsql immutable as $$
begin
  return md5(p_payload::jsonb::text);
exception when others then
  return md5(p_payload);
end $$;
