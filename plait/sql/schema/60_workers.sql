-- Leases of workers and of the leader. One row covers all running jobs of a worker.

create table plait.workers (
  -- never reused, so that a lost worker's writes match no row
  id          integer generated always as identity primary key,
  host        text not null,
  pid         integer not null,
  version     text not null,
  queues      text[] not null,
  definitions text[] not null,
  metadata    json not null default '{}',
  lease_s     double precision not null check (lease_s > 0),
  started_at  timestamptz not null default plait.now(),
  seen_at     timestamptz not null default plait.now(),
  expires_at  timestamptz not null,
  -- lost and gone are final. lost: its lease expired. gone: it left, or after_restore ended it
  state       text not null default 'alive' check (state in ('alive', 'lost', 'gone')),
  asleep      boolean not null default false,                     -- an enqueue must notify it
  running     integer not null default 0,
  -- where plait.claim continues, by queue
  cursors     jsonb not null default '{}',
  -- its node; null: none, and it gets no parts of node jobs
  node        text collate "C",
  -- the name of its process in leader elections
  holder      text,
  -- true: it will stop, so its node gets no parts of new node jobs
  draining    boolean not null default false,
  -- since when its event loop has been blocked, as of its last heartbeat
  blocked_since timestamptz,
  -- the job whose handler blocks it; null: not known
  blocked_job uuid,
  -- how many suspects it ran when it was declared lost
  suspects    integer not null default 0,
  -- number of jobs that it has claimed but not started, as of its last heartbeat
  prefetched  integer not null default 0,
  -- the build of its code: durable jobs that start here continue on workers of this build
  build       text collate "C" constraint workers_build check (build ~ '^[A-Za-z0-9_.:+-]{1,100}$'),
  ended_at    timestamptz,                                        -- when it was lost, or left
  end_reason  text constraint workers_end_reason
    check (end_reason in ('lease_expired', 'blocked_loop', 'left', 'restored')),
  -- true: it has ended, and rescue has not moved all its running jobs yet
  clearing    boolean not null default false,
  -- how many jobs were assigned to it when it ended, with the ids of at most 100 of them
  held        integer not null default 0,
  last_jobs   uuid[] not null default '{}',
  -- how its jobs were moved when it ended: rescue requeues and dead-letters, the worker releases
  requeued    integer not null default 0,
  dead_lettered integer not null default 0,
  canceled    integer not null default 0,
  released    integer not null default 0,
  constraint workers_ended check ((state = 'alive') = (ended_at is null))
) with (fillfactor = 50);

create index workers_asleep on plait.workers (id) where asleep;
create index workers_expiry on plait.workers (expires_at) where state = 'alive';
create index workers_clearing on plait.workers (id) where clearing;
-- ended workers, newest first: history and retention
create index workers_ended on plait.workers (ended_at, id) where state <> 'alive';
create index workers_lost on plait.workers (ended_at, id) where state = 'lost';
create index workers_node on plait.workers (node) where state = 'alive';
create index workers_builds on plait.workers (build) where build is not null;

-- The nodes of the cluster. Only workers have leases: a node is alive while one of its workers is
-- alive.
create table plait.nodes (
  name      text collate "C" primary key check (name ~ '^[A-Za-z0-9_.:-]{1,100}$'),
  state     text not null default 'active' check (state in ('active', 'draining', 'lost', 'left')),
  joined_at timestamptz not null default plait.now(),
  -- the address of its API, for other processes
  url       text check (length(url) between 1 and 500),
  labels    jsonb not null default '{}' check (jsonb_typeof(labels) = 'object')
);

create table plait.leader (
  name       text primary key,
  holder     text not null,
  term       bigint not null,
  expires_at timestamptz not null,
  since      timestamptz not null default plait.now()               -- since when the holder has
                                                                    -- been leader
);
