-- has_pending_children: whether a job has spawned children that are not final.
--
--   moves    nothing
--   locks    nothing
--   raises   PL003 and PL004 for a tenant; nothing for a job that does not exist or belongs to
--            another tenant: returns false
--   called   plait.store.nurseries.has_pending_children, users
--
--   job   id of the parent
--
--   select plait.has_pending_children(:'job');
create or replace function plait.has_pending_children(job uuid, tenant text default null)
returns boolean language sql stable security definer set search_path = plait, pg_temp as $$
  select exists (
    select from plait.jobs j
    where j.id = has_pending_children.job and plait._has_open_children(j.id)
      and j.tenant_id = plait._tenant(
        case when has_pending_children.tenant is not null then
               plait.tenant_id(has_pending_children.tenant) end)) $$;
