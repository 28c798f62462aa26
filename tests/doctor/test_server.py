"""Findings from the server's catalogue, each provoked on a real server."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.store import Store
from plait.store.health import Finding
from plait.testing import TestDatabase, TestServer

from ..harness import Harness
from ..replication import servers


async def found(store: Store, code: str, **limits: float) -> Finding | None:
    findings = {finding.code: finding for finding in await store.health.examine(**limits)}  # type: ignore[arg-type]
    return findings.get(code)


async def test_a_transaction_that_stays_open_is_found_and_named(unchecked_harness: Harness) -> None:
    """T114, F23: everything else slows down behind it."""
    holder = await asyncpg.connect(unchecked_harness.database.url, server_settings={"application_name": "report"})
    try:
        assert await found(unchecked_harness.store, "old_transaction", old_s=0) is None
        transaction = holder.transaction(isolation="repeatable_read")
        await transaction.start()
        await holder.fetchval("select count(*) from plait.installed")
        finding = await found(unchecked_harness.store, "old_transaction", old_s=0)
        assert finding is not None
        assert finding.evidence["pid"] == holder.get_server_pid()
        assert finding.evidence["application"] == "report"
        assert str(holder.get_server_pid()) in finding.advice
        assert await found(unchecked_harness.store, "old_transaction", old_s=3600) is None
        await transaction.rollback()
        assert await found(unchecked_harness.store, "old_transaction", old_s=0) is None
    finally:
        await holder.close()


async def test_a_login_that_may_not_see_others_transactions_sees_how_many_began_meanwhile(
    unchecked_harness: Harness,
) -> None:
    holder = await asyncpg.connect(unchecked_harness.database.admin_url)  # somebody else's: no time is shown
    try:
        transaction = holder.transaction(isolation="repeatable_read")
        await transaction.start()
        await holder.fetchval("select 1 from pg_class limit 1")
        assert await found(unchecked_harness.store, "old_transaction", old_s=0, old_xids=20_000) is None
        await unchecked_harness.admin.execute(SPEND)
        finding = await found(unchecked_harness.store, "old_transaction", old_s=0, old_xids=20_000)
        assert finding is not None
        assert finding.evidence["since"] is None
        assert finding.evidence["xids"] > 20_000
        await transaction.rollback()
    finally:
        await holder.close()


SPEND = "do $$ begin for i in 1..25000 loop perform pg_current_xact_id(); commit; end loop; end $$"


async def test_dead_rows_are_found_and_then_the_room_that_they_leave(unchecked_harness: Harness) -> None:
    await unchecked_harness.admin.execute("alter table plait.live set (autovacuum_enabled = false)")
    finding = await found(unchecked_harness.store, "autovacuum_off")
    assert finding is not None
    assert finding.evidence["table"] == "live"
    transaction = unchecked_harness.admin.transaction()
    await transaction.start()
    await unchecked_harness.admin.execute(
        "insert into plait.live (job_id, tenant_id, run_at, priority, max_attempts, state, queue, definition)"
        " select gen_random_uuid(), gen_random_uuid(), plait.now(), 100, 5, 'queued', 'default', 'add'"
        " from generate_series(1, 200000)"
    )
    await transaction.rollback()
    await unchecked_harness.enqueue("add")  # at the end of the table: it can't be cut off
    await unchecked_harness.admin.execute("select pg_stat_force_next_flush()")
    await unchecked_harness.admin.execute("select 1")
    finding = await found(unchecked_harness.store, "dead_rows")
    assert finding is not None
    assert finding.evidence["dead"] > 50_000
    assert finding.evidence["table"] == "live"
    await unchecked_harness.admin.execute("vacuum plait.live")
    await unchecked_harness.admin.execute("alter table plait.live reset (autovacuum_enabled)")
    assert await found(unchecked_harness.store, "dead_rows") is None
    finding = await found(unchecked_harness.store, "bloat")
    assert finding is not None
    assert finding.evidence["bytes"] > 64 * 1024 * 1024
    await unchecked_harness.admin.execute("vacuum full plait.live")
    assert await found(unchecked_harness.store, "bloat") is None
    assert await found(unchecked_harness.store, "autovacuum_off") is None


async def test_an_index_that_was_never_finished_is_found_and_the_claim_misses_it(unchecked_harness: Harness) -> None:
    assert await found(unchecked_harness.store, "invalid_index") is None
    assert "live_claim" in await unchecked_harness.store.health.claim_plan()
    await unchecked_harness.admin.execute(
        "update pg_index set indisvalid = false where indexrelid = 'plait.live_claim'::regclass"
    )  # as a CREATE INDEX CONCURRENTLY leaves it that fails
    finding = await found(unchecked_harness.store, "invalid_index")
    assert finding is not None
    assert finding.evidence["index"] == "live_claim"
    assert "live_claim" not in await unchecked_harness.store.health.claim_plan()


async def test_the_claim_goes_by_its_index_whatever_the_statistics_say(unchecked_harness: Harness) -> None:
    await unchecked_harness.enqueue_many("add", 300)
    for statement in ("analyze plait.live", "delete from plait.live", "vacuum plait.live"):
        await unchecked_harness.admin.execute(statement)
        assert "Index Scan using live_claim" in await unchecked_harness.store.health.claim_plan()


@pytest.fixture
async def apart() -> AsyncIterator[TestDatabase]:
    """A database on a server of its own, with settings that a shared one should not have."""
    async with servers.alone(
        max_prepared_transactions="2", wal_level="logical", max_notify_queue_pages="64", max_replication_slots="2"
    ) as server:
        yield await TestServer(server.url).create_database(fake_clock=False)


async def test_what_only_some_servers_can_have_is_found_there(apart: TestDatabase) -> None:
    """Prepared transactions, slots, a queue of notifications that fills: one server for all of them."""
    store = await Store.open(apart.url)
    admin = await asyncpg.connect(apart.admin_url)
    try:
        assert await store.health.examine(old_s=0, old_xids=50) == []
        await _prepared(store, admin)
        await _slot(store, admin)
        await _notifications(store, admin, apart)
        assert await store.health.examine(old_s=0, old_xids=50) == []
    finally:
        await store.close()
        await admin.close()


async def _prepared(store: Store, admin: asyncpg.Connection) -> None:
    await admin.execute("begin; create table public.x (); prepare transaction 'forgotten'")
    finding = await found(store, "old_prepared", old_s=0)
    assert finding is not None
    assert finding.evidence["gid"] == "forgotten"
    await admin.execute("rollback prepared 'forgotten'")


async def _slot(store: Store, admin: asyncpg.Connection) -> None:
    await admin.fetchval("select pg_create_logical_replication_slot('left_behind', 'pgoutput')")
    await admin.execute(SPEND)
    finding = await found(store, "old_slot", old_xids=20_000)
    assert finding is not None
    assert finding.evidence["slot"] == "left_behind"
    assert finding.evidence["active"] is False
    await admin.fetchval("select pg_drop_replication_slot('left_behind')")


async def _notifications(store: Store, admin: asyncpg.Connection, apart: TestDatabase) -> None:
    ear = await asyncpg.connect(apart.url)
    try:
        await ear.execute("listen plait")
        await ear.execute("begin")  # and so it reads nothing
        await ear.execute("select 1")
        for _ in range(45):
            await admin.execute("select pg_notify('plait', repeat('x', 7900))")
        finding = await found(store, "notify_queue")
        assert finding is not None
        assert finding.evidence["full"] > 0.5
    finally:
        await ear.close()
    await admin.execute("listen plait; select pg_notify('plait', 'on'); unlisten *")  # a reader cleans up
    while await admin.fetchval("select pg_notification_queue_usage()") > 0.5:
        await asyncio.sleep(0.01)
