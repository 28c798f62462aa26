-- find_link: an approval link, and whether it can be used. No row if there is no such link.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   follow_link, plait.store.approvals.find_link
--
-- state: open, used, expired, or ended if the job is final.
create or replace function plait.find_link(p_hash text)
returns table (job_id uuid, tenant_id uuid, signal text, message text, button text,
               expires_at timestamptz, used_at timestamptz, state text)
language sql stable security definer set search_path = plait, pg_temp as $$
  select t.job_id, t.tenant_id, t.signal, t.message, t.button, t.expires_at, t.used_at,
         case when t.used_at is not null then 'used'
              when t.expires_at <= plait.now() then 'expired'
              when not exists (select from plait.live l where l.job_id = t.job_id) then 'ended'
              else 'open' end
  from plait.job_tokens t
  where t.hash = p_hash and t.kind = 'signal' $$;
