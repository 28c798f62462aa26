-- The current state of a job: one small row until the job is final, then no row. This file is the
-- state machine: the states of a row, the constraints of each state, and the moves between states.
-- All other lists of states and moves (plait/model/states.py, the docs) are tested against this
-- file.

create table plait.live (
  job_id           uuid primary key with (fillfactor = 45),
  tenant_id        uuid not null,
  run_at           timestamptz not null,             -- scheduled: when due; queued: since when;
                                                     -- running: when claimed; waiting: since when,
                                                     -- or until when if the retry is delayed
  cancel_requested timestamptz,                      -- running only: when its handler was asked to
                                                     -- stop
  worker           integer,
  attempt          integer not null default 0,       -- number of the current attempt; only grows:
                                                     -- the fencing token
  priority         smallint not null,
  failed_attempts  smallint not null default 0,      -- attempts that count toward max_attempts
  max_attempts     smallint not null,
  losses           smallint not null default 0,      -- lost workers that count against this job:
                                                     -- the first, and each that was lost while this
                                                     -- job was its only suspect
  state            plait.status not null,
  metered          boolean not null default false,   -- counts toward its tenant's max_queued
  queue            text collate "C" not null,
  -- '' | suspect | d:<definition> | k:<definition>:<tenant>:<key> | n:<node> | leader | b:<build>,
  -- followed by a space and the limit's lane if the job is limited. A suspect keeps the last three
  -- forms, as in suspect:n:<node>
  lane             text collate "C" not null default '',
  definition       text collate "C" not null,
  dedupe_key       text collate "C",
  limit_key        text collate "C",
  cancel_reason    text,                             -- as given with the cancellation
  root_id          uuid,                             -- these two are set only for a child of a
                                                     -- fan-out
  fan_out_id       uuid,
  wake_at          timestamptz,                      -- waiting only: when it resumes at the latest
  wait_on          text,                             -- waiting only: fan_out <id> | signal <name> |
                                                     -- sleep | turn | several: see its open steps
  tied             boolean not null default false,   -- has children, follow-ups or dependents, so
                                                     -- _settle_tied handles its end
  suspect_group    bigint,                           -- of a suspect: jobs of the same group may run
                                                     -- on one worker at the same time, see rescue
  cancel_by        timestamptz,                      -- canceled; its handler may clean up until
                                                     -- then

  constraint live_state check (state in ('scheduled', 'queued', 'running', 'waiting')),
  constraint live_running_has_a_worker check ((state = 'running') = (worker is not null)),
  constraint live_only_running_is_asked_to_stop check (
    cancel_requested is null or state = 'running'),
  constraint live_only_waiting_waits_on check (
    wait_on is null and wake_at is null or state = 'waiting'),
  -- So that _settle_tied handles a leader's job: its outcome is accepted only while its process is
  -- the leader.
  constraint live_leader_is_tied check (tied or lane not in ('leader', 'suspect:leader'))
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0,
  fillfactor = 45                                    -- space for the next version of a row on the
                                                     -- same page, because a claim writes a slightly
                                                     -- longer version
);

-- Deduplication is off: most keys are unique, and for a key that many rows share, a claim would
-- unpack the posting list for each row that it adds (10 µs per job, measured with live_limited).
create index live_claim on plait.live (queue, tenant_id, priority, run_at, job_id)
  with (deduplicate_items = off) where state = 'queued' and lane = '';
create index live_due on plait.live (run_at) where state = 'scheduled';
create index live_running on plait.live (worker) where state = 'running';
-- These are empty unless the feature that they serve is used.
create index live_lanes on plait.live (queue, lane, tenant_id, priority, run_at, job_id)
  with (deduplicate_items = off) where state = 'queued' and lane <> '';
create index live_cancel on plait.live (worker)
  where cancel_requested is not null or cancel_by is not null;
create index live_cancel_by on plait.live (cancel_by) where cancel_by is not null;
create index live_limited on plait.live (definition, tenant_id, limit_key)
  with (deduplicate_items = off) where state = 'running' and lane <> '';
create index live_metered on plait.live (tenant_id) with (deduplicate_items = off) where metered;
create index live_waiting on plait.live (tenant_id) with (deduplicate_items = off)
  where state = 'waiting';
create index live_wake on plait.live (wake_at) where wake_at is not null;
create index live_leader on plait.live (worker) where lane in ('leader', 'suspect:leader');
create index live_tree on plait.live (root_id, fan_out_id) with (deduplicate_items = off)
  where root_id is not null;

create function plait._guard_live() returns trigger language plpgsql as $$
begin
  raise exception 'a % job cannot become %', old.state, new.state
    using errcode = 'PL009', detail = 'job ' || old.job_id || ', attempt ' || old.attempt;
end $$;

create trigger guard before update of state on plait.live for each row
when (old.state <> new.state and not (
     old.state = 'queued'    and new.state = 'running'    -- claim: the most frequent move, so it
                                                          -- comes first
  or old.state = 'queued'    and new.state = 'scheduled'  -- reschedule
  or old.state = 'scheduled' and new.state = 'queued'     -- promote, reschedule
  -- settle, rescue; settle; suspend
  or old.state = 'running'   and new.state in ('queued', 'scheduled', 'waiting')
  or old.state = 'waiting'   and new.state = 'queued'     -- resume
))
execute function plait._guard_live();

alter table plait.live enable row level security;
alter table plait.live force row level security;
create policy owner on plait.live to plait_owner using (true) with check (true);
create policy tenant on plait.live for select
  to plait_client, plait_tenant, plait_worker, plait_admin
  using (tenant_id = (select plait._visible_tenant()));
