-- examine: problems found in the server's catalogue. Needs no extension.
--
--   moves    nothing
--   locks    nothing
--   raises   nothing
--   called   plait.store.health.examine, users
--
--   p_old_s      seconds after which an open transaction counts as old
--   p_old_xids   number of later transactions after which a transaction counts as old, if its start
--                time is hidden
--
--   select level, code, finding, advice from plait.examine();
--
-- A login with pg_read_all_stats sees how long other transactions have been open; any other login
-- sees only how many transactions have begun since. evidence: as in findings.
--
-- Runs with the caller's privileges. The body is BEGIN ATOMIC, so names are resolved when the
-- function is created, not with the caller's search_path.
create or replace function plait.examine(p_old_s float8 default 60, p_old_xids int default 100000)
returns table (level text, code text, finding text, evidence jsonb, advice text)
language sql stable security invoker
begin atomic
select 'problem', 'old_transaction',
       format(
         'process %s has had a transaction open %s: dead rows accumulate, and every queue slows down',
         a.pid,
         -- clock: the server's own time stamps
         case when a.xact_start is not null then
                format('for %s s', extract(epoch from clock_timestamp() - a.xact_start)::int)
              else format(
                'for %s transactions', greatest(age(a.backend_xmin), age(a.backend_xid))) end),
       jsonb_build_object(
         'pid', a.pid, 'user', a.usename, 'application', nullif(a.application_name, ''),
         'state', a.state, 'since', a.xact_start,
         'xids', greatest(age(a.backend_xmin), age(a.backend_xid))),
       format(
         'end the transaction: select pg_terminate_backend(%s). To prevent such transactions, set idle_in_transaction_session_timeout',
         a.pid)
from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.backend_type is distinct from 'walsender'
  and a.backend_type is distinct from 'autovacuum worker'
  and (a.datname = current_database() or a.datname is null)
  -- clock: the server's own time stamps
  and (a.xact_start < clock_timestamp() - make_interval(secs => p_old_s)
         and coalesce(a.backend_xmin, a.backend_xid) is not null
       or a.xact_start is null and greatest(age(a.backend_xmin), age(a.backend_xid)) > p_old_xids)
union all
select 'problem', 'old_prepared',
       format('the prepared transaction %s has been open for %s s: dead rows accumulate',
              quote_literal(x.gid),
              -- clock: the server's own time stamps
              extract(epoch from clock_timestamp() - x.prepared)::int),
       jsonb_build_object('gid', x.gid, 'owner', x.owner, 'since', x.prepared),
       format('commit prepared %1$s, or rollback prepared %1$s', quote_literal(x.gid))
-- clock: the server's own time stamps
from pg_prepared_xacts x
where x.database = current_database()
  and x.prepared < clock_timestamp() - make_interval(secs => p_old_s)
union all
select 'problem', 'old_slot',
       format('the replication slot %s%s holds back %s transactions and %s of WAL', s.slot_name,
              case when s.active then '' else ', which is inactive,' end, s.xids,
              pg_size_pretty(s.bytes)),
       jsonb_build_object(
         'slot', s.slot_name, 'kind', s.slot_type, 'active', s.active, 'xids', s.xids,
         'wal_bytes', s.bytes),
       format('let its consumer catch up, or drop it: select pg_drop_replication_slot(%s)',
              quote_literal(s.slot_name))
from (select r.slot_name, r.slot_type, r.active,
             coalesce(greatest(age(r.xmin), age(r.catalog_xmin)), 0) as xids,
             coalesce(case when not pg_is_in_recovery() then
                             pg_wal_lsn_diff(pg_current_wal_lsn(), r.restart_lsn) end,
                      0)::bigint as bytes
      from pg_replication_slots r) s
where s.xids > p_old_xids or not s.active and s.bytes > 1073741824
union all
select 'warning', 'dead_rows',
       format(
         'plait.%s has %s dead rows and %s live rows', s.relname, s.n_dead_tup, s.n_live_tup),
       jsonb_build_object(
         'table', s.relname, 'dead', s.n_dead_tup, 'live', s.n_live_tup,
         'vacuumed', greatest(s.last_vacuum, s.last_autovacuum)),
       format(
         'vacuum plait.%s. The cause may be an old transaction, or autovacuum that is off or too slow',
         s.relname)
from pg_stat_user_tables s
where s.schemaname = 'plait' and s.n_dead_tup > 50000
  and s.n_dead_tup > case when s.relname = 'live' then 5 * s.n_live_tup else s.n_live_tup end
union all
select 'warning', 'bloat',
       format('plait.%s takes %s for %s rows', s.relname, pg_size_pretty(s.bytes), s.n_live_tup),
       jsonb_build_object('table', s.relname, 'bytes', s.bytes, 'live', s.n_live_tup),
       format(
         'run vacuum full plait.%s at a quiet time, because it locks the table. Then find out why the table grew, for example because of dead rows or old transactions',
         s.relname)
from (select t.relname, greatest(t.n_live_tup, c.reltuples)::bigint as n_live_tup, t.n_dead_tup,
             pg_total_relation_size(t.relid) as bytes
      -- a crash resets n_live_tup, but not reltuples
      from pg_stat_user_tables t
      join pg_class c on c.oid = t.relid
      where t.schemaname = 'plait'
        and t.relname in ('live', 'workers', 'running_state', 'dedupe', 'fan_outs')) s
where s.bytes > 67108864 and s.bytes > 4096 * (s.n_live_tup + s.n_dead_tup)
union all
select 'problem', 'autovacuum_off',
       case when v.setting = 'off' then 'autovacuum is off for the whole server'
            else format('autovacuum is off for plait.%s', v.relname) end,
       jsonb_build_object('setting', v.setting, 'table', v.relname),
       case when v.setting = 'off' then 'set autovacuum = on in postgresql.conf, and reload'
            else format('alter table plait.%s reset (autovacuum_enabled)', v.relname) end
from (select 'off' as setting, null::name as relname
      where not current_setting('autovacuum')::boolean
      union all
      select 'on', c.relname
      from pg_class c
      where c.relnamespace = 'plait'::regnamespace and c.relkind = 'r'
        and exists (select from pg_options_to_table(c.reloptions) o
                    where o.option_name = 'autovacuum_enabled' and not o.option_value::boolean)) v
union all
select 'problem', 'invalid_index',
       format(
         'the index plait.%s is invalid: no query uses it, and every write updates it', c.relname),
       jsonb_build_object('index', c.relname),
       format('reindex index concurrently plait.%s', c.relname)
from pg_index i
join pg_class c on c.oid = i.indexrelid
where c.relnamespace = 'plait'::regnamespace and not (i.indisvalid and i.indisready)
union all
select 'problem', 'notify_queue',
       format('the server''s notification queue is %s %% full; when it is full, enqueues fail',
              round((100 * u)::numeric)),
       jsonb_build_object('full', u),
       'end the session that executed LISTEN and has had a transaction open for a long time'
from pg_notification_queue_usage() u
where u > 0.5;
end;
