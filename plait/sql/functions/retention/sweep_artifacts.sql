-- sweep_artifacts: return artifacts whose bytes can be removed; delete the rows of removed ones.
--
--   moves    nothing
--   locks    artifacts SKIP LOCKED: safe to run in several processes at once
--   raises   nothing
--   called   plait.store.artifacts.sweep_artifacts
--
-- An artifact is kept as long as its job. Once it is marked (doomed_at), it can't be found, and its
-- id is never reused, so bytes that are stored under a new id are never removed by mistake. It is
-- returned again until the caller passes it in p_removed.
create or replace function plait.sweep_artifacts(
  p_removed uuid[] default null, p_limit int default 100
) returns table (id uuid, tenant_id uuid)
language plpgsql security definer set search_path = plait, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  delete from plait.artifacts where id = any(p_removed) and doomed_at is not null;
  return query
    with due as materialized (
      select a.id, a.job_id
      from plait.artifacts a
      where a.expires_at <= v_now
      order by a.expires_at limit p_limit for update skip locked
    ), kept as (
      update plait.artifacts a set expires_at = null
      from due d
      where a.id = d.id and a.doomed_at is null
        and exists (select from plait.jobs j where j.id = d.job_id and j.tenant_id = a.tenant_id)
    )
    update plait.artifacts a set
      doomed_at = coalesce(a.doomed_at, v_now), expires_at = v_now + interval '1 minute'
    from due d
    where a.id = d.id
      and (a.doomed_at is not null
           or not exists (select from plait.jobs j
                          where j.id = d.job_id and j.tenant_id = a.tenant_id))
    returning a.id, a.tenant_id;
end $$;
