-- _payload_hash: equal for payloads that are equal as JSON.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing: what jsonb refuses (NUL, huge numbers) is hashed as text
--   called   _insert_keys
create or replace function plait._payload_hash(p_payload text) returns text
language plpgsql immutable as $$
begin
  return md5(p_payload::jsonb::text);
exception when others then
  return md5(p_payload);
end $$;
