-- Room for what a claim adds to the pages of live and of its key, no packing of keys, and the guard's most frequent
-- move first. Pages that are there stay as they are; live turns over soon.
alter table plait.live set (fillfactor = 45);
alter index plait.live_pkey set (fillfactor = 45);
alter index plait.live_claim set (deduplicate_items = off);
alter index plait.live_lanes set (deduplicate_items = off);
alter index plait.live_limited set (deduplicate_items = off);
alter index plait.live_metered set (deduplicate_items = off);
alter index plait.live_waiting set (deduplicate_items = off);
alter index plait.live_tree set (deduplicate_items = off);

create or replace trigger guard before update of state on plait.live for each row
when (old.state <> new.state and not (
     old.state = 'queued'    and new.state = 'running'                            -- claim: most often, so it comes first
  or old.state = 'queued'    and new.state = 'scheduled'                          -- reschedule
  or old.state = 'scheduled' and new.state = 'queued'                             -- promote, reschedule
  or old.state = 'running'   and new.state in ('queued', 'scheduled', 'waiting')  -- settle, rescue; settle; suspend
  or old.state = 'waiting'   and new.state = 'queued'                             -- resume
))
execute function plait._guard_live();
