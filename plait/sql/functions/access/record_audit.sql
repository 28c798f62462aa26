-- record_audit: write an audit entry, in the same statement as the change that it records.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.audit._record
create or replace function plait.record_audit(
  p_tenant uuid, p_actor text, p_action text, p_object text, p_request_id text, p_detail json
) returns uuid
language sql security definer set search_path = plait, pg_temp as $$
  insert into plait.audit (id, tenant_id, at, actor, action, object, request_id, detail)
  values (plait.uuidv7(), p_tenant, plait.now(), p_actor, p_action, p_object, p_request_id,
          coalesce(p_detail, '{}'))
  returning id $$;
