-- _attempts_used: how many attempts of a job count against max_attempts, with the one under way.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   changes, _job_nodes, job_tree, list_children
--
-- As plait.job shows it. p_live: the attempt in its live row; null: it is final. p_last: its last
-- attempt. Most jobs were started once at most: for these nothing is read.
create or replace function plait._attempts_used(p_job uuid, p_live int, p_last plait.attempts)
returns int language sql stable as $$
  select case when p_live = 0 then 0
              when p_live is null and p_last.attempt = 1 then
                (p_last.claimed_at is not null
                 and p_last.status not in ('lost', 'released', 'snoozed'))::int
              else (select j.attempts_used from plait.job j where j.id = p_job) end $$;
