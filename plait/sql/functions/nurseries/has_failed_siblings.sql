-- has_failed_siblings: whether a child of the same parent has failed or was canceled.
--
--   moves    nothing
--   locks    nothing
--   raises   PL003 and PL004 for a tenant; nothing for a job that does not exist or belongs to
--            another tenant: returns false
--   called   plait.store.nurseries.has_failed_siblings, users
--
--   job   id of a child
--
--   select plait.has_failed_siblings(:'child');
create or replace function plait.has_failed_siblings(job uuid, tenant text default null)
returns boolean language sql stable security definer set search_path = plait, pg_temp as $$
  select exists (
    select from plait.jobs j
    join plait.fan_outs f on f.id = j.fan_out_id
    where j.id = has_failed_siblings.job and f.failed + f.canceled > 0
      and j.tenant_id = plait._tenant(
        case when has_failed_siblings.tenant is not null then
               plait.tenant_id(has_failed_siblings.tenant) end)) $$;
