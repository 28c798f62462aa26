-- _attempts_used: how many attempts count against max_attempts, including the current one.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   changes, _job_nodes, job_tree, list_children
--
-- The number equals attempts_used in plait.job. p_live: the attempt in the job's live row; null if
-- the job is final. p_last: the job's last attempt. Most jobs have at most one attempt, and for
-- these no table is read.
create or replace function plait._attempts_used(p_job uuid, p_live int, p_last plait.attempts)
returns int language sql stable as $$
  select case when p_live = 0 then 0
              when p_live is null and p_last.attempt = 1 then
                (p_last.claimed_at is not null
                 and p_last.status not in ('lost', 'released', 'snoozed'))::int
              else (select j.attempts_used from plait.job j where j.id = p_job) end $$;
