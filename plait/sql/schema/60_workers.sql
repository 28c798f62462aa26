-- Workers and the leader: leases. A worker's running jobs live by its one row.

create table plait.workers (
  id          integer generated always as identity primary key,   -- never used twice, so a dead worker's writes match nothing
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
  state       text not null default 'alive' check (state in ('alive', 'lost', 'gone')),  -- lost: expired, its jobs not yet moved
  asleep      boolean not null default false,                     -- an enqueue must notify
  running     integer not null default 0,
  cursors     jsonb not null default '{}'                         -- where plait.claim goes on, by queue
) with (fillfactor = 50);

create index workers_asleep on plait.workers (id) where asleep;
create index workers_expiry on plait.workers (expires_at) where state = 'alive';
create index workers_lost on plait.workers (id) where state = 'lost';

create table plait.leader (
  name       text primary key,
  holder     text not null,
  term       bigint not null,
  expires_at timestamptz not null
);
