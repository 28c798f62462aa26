-- elect: acquire, renew or resign the leader's lease.
--
--   moves    running -> queued, for the leader's jobs that the former leader still runs: see
--            _take_over_leader_jobs
--   locks    the leader's row; then the same as _take_over_leader_jobs
--   raises   nothing
--   called   plait.store.leader.elect
--
-- The term grows with each new holder. It is the fencing token of the leader's jobs (_still_leads).
-- The duties are safe without leader election, which only avoids duplicate work. A process that
-- still runs a leader's job cannot resign: it keeps the lease and retries later.
create or replace function plait.elect(
  p_holder text, p_lease_s float8 default 10, p_resign boolean default false,
  out o_leads boolean, out o_term bigint, out o_holder text
)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare
  v_now timestamptz := plait.now();
  v_was text;
begin
  perform plait._require_read_committed();
  if p_resign
     and not exists (select from plait.live v
                     join plait.workers w on w.id = v.worker
                     where v.lane in ('leader', 'suspect:leader') and v.state = 'running'
                       and w.holder = p_holder) then
    update plait.leader set expires_at = v_now
    where name = 'main' and holder = p_holder and expires_at > v_now;
  else
    select holder into v_was from plait.leader where name = 'main';
    insert into plait.leader as l (name, holder, term, expires_at, since)
    values ('main', p_holder, 1, v_now + make_interval(secs => p_lease_s), v_now)
    on conflict (name) do update set holder = p_holder, expires_at = excluded.expires_at,
      term = l.term + (l.holder <> p_holder or l.expires_at <= v_now)::int,
      since = case when l.holder <> p_holder then v_now else l.since end
    where l.holder = p_holder or l.expires_at <= v_now;
    if found and v_was is distinct from p_holder then
      perform plait._take_over_leader_jobs(v_now);
    end if;
  end if;
  select l.holder = p_holder and l.expires_at > v_now, l.term, l.holder
  into o_leads, o_term, o_holder
  from plait.leader l
  where l.name = 'main';
  o_leads := coalesce(o_leads, false);
end $$;
