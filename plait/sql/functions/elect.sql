-- elect: take or renew the leader's lease.
--
--   moves    nothing
--   locks    the leader's row
--   raises   nothing
--   called   plait.store.leader.elect
--
-- The term grows with each new holder; it fences what a leader writes. The duties that exist are safe without it: the
-- leader only saves the others the work.
create or replace function plait.elect(p_holder text, p_lease_s float8 default 10, p_resign boolean default false,
  out o_leads boolean, out o_term bigint, out o_holder text)
language plpgsql security definer set search_path = plait, pg_temp as $$
declare v_now timestamptz := plait.now();
begin
  perform plait._require_read_committed();
  if p_resign then
    update plait.leader set expires_at = v_now where name = 'main' and holder = p_holder and expires_at > v_now;
  else
    insert into plait.leader as l (name, holder, term, expires_at)
    values ('main', p_holder, 1, v_now + make_interval(secs => p_lease_s))
    on conflict (name) do update set holder = p_holder, expires_at = excluded.expires_at,
      term = l.term + (l.holder <> p_holder or l.expires_at <= v_now)::int
    where l.holder = p_holder or l.expires_at <= v_now;
  end if;
  select l.holder = p_holder and l.expires_at > v_now, l.term, l.holder into o_leads, o_term, o_holder from plait.leader l where l.name = 'main';
  o_leads := coalesce(o_leads, false);
end $$;
