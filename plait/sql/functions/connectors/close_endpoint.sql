-- close_endpoint: stop deliveries to an endpoint that answered 410 (Gone).
--
--   moves    nothing
--   locks    the delivery's live row FOR KEY SHARE, the endpoint's row
--   raises   nothing for a lost lease: returns false
--   called   plait.store.endpoints.close_endpoint
--
-- Called by the delivery that received the response.
create or replace function plait.close_endpoint(
  p_endpoint uuid, p_job uuid, p_attempt int, p_reason text
) returns boolean
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_tenant uuid;
  v_now    timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  select tenant_id into v_tenant
  from plait.live
  where job_id = p_job and attempt = p_attempt and state = 'running'
    and definition = 'connector.webhook.deliver'
  for key share;
  if not found then
    return false;
  end if;
  update plait.endpoints set
    enabled = false, subscribed_at = null, disabled_at = v_now,
    disabled_reason = left(p_reason, 500), updated_at = v_now
  where id = p_endpoint and tenant_id = v_tenant and enabled;
  return true;
end $$;
