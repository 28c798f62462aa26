-- The statuses of a job, and the outcomes of one attempt.
-- plait/model/states.py has the same lists; tests/foundation/test_states.py compares them.

create type plait.status as enum (
  -- live: one row in plait.live
  'scheduled', 'queued', 'running', 'waiting',
  'succeeded', 'failed', 'dead_letter', 'canceled', 'skipped'           -- final: no row in
                                                                        -- plait.live
);

create type plait.outcome as enum (
  'succeeded', 'failed', 'timeout', 'canceled', 'skipped', 'lost', 'released', 'snoozed',
  'suspended'
);

-- Scan bounds: where a worker's claims from one queue start reading the index. For each tenant and
-- priority, `starts` is the earliest run_at that a queued job of the main lane can still have (see
-- _advance_scan_bounds). A transaction with an id above `seen_xid` got its id after `seen_at`.
create type plait.scan_bounds as (
  seen_at timestamptz, seen_xid xid8, tenants uuid[], priorities smallint[], starts timestamptz[]
);
