-- follow: new stream items, states and replies of several jobs, for their followers.
--
--   moves    nothing
--   locks    nothing
--   raises   PL004 for a foreign tenant
--   called   plait.store.streams.follow
--
-- p_subjects: `stream <name>`, `state`, or `reply <id>` for the reply to an update: {value, error}.
-- p_after: the number of the last item that the caller has, or the version of the state. Returns a
-- row for each subject that has changed; n is its position, from 1. items: JSON, [[number, value],
-- …], at most 200 items and about 1 MB. ended: true if no more items will follow, because the
-- stream is closed or the job is final. status: the status of the job; null if the caller has no
-- such job.
create or replace function plait.follow(
  p_jobs uuid[], p_tenants uuid[], p_subjects text[], p_after int[]
) returns table (n int, status text, ended boolean, items text)
language plpgsql stable security definer set search_path = plait, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_column
declare v_tenants uuid[];
begin
  -- This check is separate from the lookup, as in get_outcomes.
  select array_agg(plait._tenant(u.tenant_id) order by u.n) into v_tenants
    from unnest(p_jobs, p_tenants) with ordinality u(id, tenant_id, n);
  return query
    select x.n::int, coalesce(l.state, a.final)::text,
           l.job_id is null or coalesce(s.closed, false),
           coalesce(i.items,
                    case when v.version > x.after then
                           json_build_array(json_build_array(v.version, v.value))::text
                         when r.id is not null then
                           json_build_array(
                             json_build_array(
                               1, json_build_object('value', r.value, 'error', r.error)))::text end)
    from unnest(p_jobs, v_tenants, p_subjects, p_after) with ordinality
         x(id, tenant_id, subject, after, n)
    left join plait.jobs j on j.id = x.id and j.tenant_id = x.tenant_id
    left join plait.live l on l.job_id = j.id
    left join lateral (select t.final
                       from plait.attempts t
                       where l.job_id is null and t.job_id = j.id
                       order by t.attempt desc limit 1) a on true
    left join plait.streams s on s.job_id = j.id and x.subject = 'stream ' || s.name
    left join plait.job_states v on v.job_id = j.id and x.subject = 'state'
    left join plait.update_replies r
      on r.job_id = j.id
        and r.id = case when x.subject like 'reply %' then substr(x.subject, 7)::uuid end
    left join lateral (
      select json_agg(json_build_array(p.seq, p.value) order by p.seq)::text as items
      from (
        select t.seq, t.value,
               sum(octet_length(t.value::text)) over (order by t.seq)
                 - octet_length(t.value::text) as size_before
        from (
          select t.seq, t.value
          from plait.stream_items t
          where t.job_id = s.job_id and t.name = s.name and t.seq > x.after
          order by t.seq limit 200) t) p
      where p.size_before < 1000000) i on true
    where j.id is null or l.job_id is null or s.closed or i.items is not null or v.version > x.after
      or r.id is not null;
end $$;
