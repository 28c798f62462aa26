"""No login can block plait by holding a lock: plait locks rows that only its own functions can reach."""

import asyncio
import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.model.states import AttemptOutcome
from plait.store import migrate
from plait.store.workers import Settlement

from ..harness import Harness
from ..project.source_files import sources
from ..waiting import eventually
from .logins import DENIED, Logins, connected, outcome

BOUND_S = 60.0

NAMES = (
    """
queue default|queue serial|limit queue default|limit definition limited|limit definition rated|limit tenant {tenant}
limit key keyed {tenant} k|wake default|wake serial|announce|roll_up|count_live|endpoints {tenant}|triggers {tenant}
trigger {tenant} t|trigger {tenant} new
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
"""Every text that plait has ever hashed, after its own name."""


@pytest.fixture
async def logins(own_harness: Harness) -> AsyncIterator[Logins]:
    logins = Logins(own_harness.database)
    yield logins
    await logins.drop()


@pytest.fixture
async def attacker(own_harness: Harness, logins: Logins) -> AsyncIterator[asyncpg.Connection]:
    """A tenant's own login, in a transaction that it never ends."""
    login = await logins.bound_to(await own_harness.tenant("evil"))
    async with connected(own_harness.database.url_for(login)) as connection:
        await connection.execute("begin")
        yield connection


async def take_every_advisory_lock(attacker: asyncpg.Connection, harness: Harness) -> None:
    tenants = [await harness.tenant("default"), await harness.tenant("evil")]
    names = {f"plait.{name.format(tenant=tenant)}" for name in NAMES for tenant in tenants}
    for name in names:
        for function in ("pg_advisory_lock", "pg_advisory_xact_lock"):
            await attacker.fetchval(f"select {function}(hashtextextended($1, 0))", name)
            await attacker.fetchval(f"select {function}(hashtext($1))", name)
            await attacker.fetchval(f"select {function}(hashtext('plait'), hashtext($1))", name)
    await attacker.fetchval("select pg_advisory_lock($1)", migrate._LOCK)


async def test_a_tenant_that_holds_every_advisory_lock_stops_nothing(
    own_harness: Harness, attacker: asyncpg.Connection
) -> None:
    harness = own_harness
    await harness.define("limited", max_running=2)
    await harness.define("rated", rate_count=2, rate_period_s=60)
    await harness.define("keyed", key_max_running=1)
    await harness.define("add")
    await harness.queue(max_running=50)
    await harness.queue("serial", serial=True)
    names = ["add", "other", "limited", "rated", "keyed"]
    worker = await harness.worker(queues=["default", "serial"], definitions=names)
    await harness.tenant("default", max_running=50)
    await harness.trigger(every_s=60)
    await take_every_advisory_lock(attacker, harness)

    async with asyncio.timeout(BOUND_S):
        for definition in ("add", "limited", "rated", "keyed"):
            await harness.enqueue_many(definition, 3, limit_key="k" if definition == "keyed" else None)
        await harness.enqueue(queue="serial")
        leases = await worker.claim(20)
        assert sorted(lease.definition for lease in leases) == sorted(
            ["add"] * 4 + ["limited"] * 2 + ["rated"] * 2 + ["keyed"]
        )
        done = [Settlement(lease.job_id, lease.attempt, AttemptOutcome.SUCCEEDED) for lease in leases]
        assert (await worker.cycle(20, *done)).stale == []

        await harness.advance(minutes=1)
        await harness.fire()
        assert await harness.sql("select count(*) from plait.fires") == 1
        assert (await harness.store.leader.count_live())[0] > 0
        await harness.store.endpoints.set_endpoint(
            "e", {"url": "https://hooks.example.com/", "statuses": ["succeeded"]}, tenant_id=await harness.tenant()
        )
        await harness.store.leader.roll_up()
        assert await harness.sql("select count(*) from plait.minutes") > 0
        job = await harness.enqueue()
        await worker.succeed(next(lease for lease in await worker.claim(20) if lease.job_id == job))
        assert (await harness.store.leader.announce())[0] == 1
        await harness.trigger("new", every_s=60)
        await harness.queue(paused=True)
        await harness.queue("serial", serial=False)
        await harness.queue("other", serial=True)
        assert await worker.claim(5) == []
        await harness.sql("update plait.installed set functions_hash = ''")
        await migrate.migrate(harness.database.admin_url)


async def test_a_tenant_that_enqueues_in_an_open_transaction_keeps_nobody_from_being_notified(
    own_harness: Harness, attacker: asyncpg.Connection
) -> None:
    """In any kind of transaction: the holder of the lock notifies for all, and it would never commit."""
    harness = own_harness
    worker = await harness.worker()
    assert (await worker.cycle(1, sleep=True)).claimed == []
    for _ in range(2):
        await attacker.execute(
            "select plait.enqueue_many(array[plait.uuidv7()], array['add'], array['{}'], p_in_transaction => false)"
        )
    heard = 0

    def hear(*_: object) -> None:
        nonlocal heard
        heard += 1

    async with connected(harness.database.admin_url) as connection:
        await connection.add_listener("plait", hear)
        await harness.enqueue()

        async def told() -> bool:
            await connection.fetchval("select 1")
            return heard > 0

        await eventually(told, what="the notification")


async def test_nobody_but_plaits_functions_reaches_its_locks(own_harness: Harness, logins: Logins) -> None:
    roles = ("plait_client", "plait_tenant", "plait_worker", "plait_admin")
    for role in roles:
        async with connected(own_harness.database.url_for(await logins.create(role))) as connection:
            for sql in (
                "select from plait.locks",
                "select from plait.locks for update",
                "lock table plait.locks in access share mode",
                "select plait._try_lock('announce')",
                "select plait._lock_tenant(plait.uuidv7(), 'triggers')",
            ):
                assert (await outcome(connection, sql)).startswith(DENIED), (role, sql)
            assert not (await outcome(connection, "lock table plait.installed in row exclusive mode")).startswith("ok")


def test_no_advisory_lock_is_left_that_a_tenant_could_take() -> None:
    takes = re.compile(r"pg_(try_)?advisory")
    found = [path.name for folder in ("functions", "schema") for path in sources(f"plait/sql/{folder}", ".sql")
             if takes.search(path.read_text())]  # fmt: skip
    assert found == []
    store = {path.name: len(takes.findall(path.read_text())) for path in sources("plait/store", ".py")}
    assert {name: n for name, n in store.items() if n} == {"migrate.py": 1}, "the first installation's"
