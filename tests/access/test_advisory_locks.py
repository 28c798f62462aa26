"""No login can stop plait by holding a lock: those that plait takes are rows that only its own functions reach."""

import asyncio
import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from plait.model.states import Ending
from plait.store import migrate
from plait.store.workers import Settlement

from ..harness import World
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
"""What plait ever hashed, after its own name."""


@pytest.fixture
async def logins(own_world: World) -> AsyncIterator[Logins]:
    logins = Logins(own_world.database)
    yield logins
    await logins.drop()


@pytest.fixture
async def attacker(own_world: World, logins: Logins) -> AsyncIterator[asyncpg.Connection]:
    """A tenant's own login, in a transaction that it never ends."""
    login = await logins.bound_to(await own_world.tenant("evil"))
    async with connected(own_world.database.url_for(login)) as connection:
        await connection.execute("begin")
        yield connection


async def take_every_advisory_lock(attacker: asyncpg.Connection, world: World) -> None:
    tenants = [await world.tenant("default"), await world.tenant("evil")]
    names = {f"plait.{name.format(tenant=tenant)}" for name in NAMES for tenant in tenants}
    for name in names:
        for function in ("pg_advisory_lock", "pg_advisory_xact_lock"):
            await attacker.fetchval(f"select {function}(hashtextextended($1, 0))", name)
            await attacker.fetchval(f"select {function}(hashtext($1))", name)
            await attacker.fetchval(f"select {function}(hashtext('plait'), hashtext($1))", name)
    await attacker.fetchval("select pg_advisory_lock($1)", migrate._LOCK)


async def test_a_tenant_that_holds_every_advisory_lock_stops_nothing(
    own_world: World, attacker: asyncpg.Connection
) -> None:
    world = own_world
    await world.define("limited", max_running=2)
    await world.define("rated", rate_count=2, rate_period_s=60)
    await world.define("keyed", key_max_running=1)
    await world.define("add")
    await world.queue(max_running=50)
    await world.queue("serial", serial=True)
    names = ["add", "other", "limited", "rated", "keyed"]
    worker = await world.worker(queues=["default", "serial"], definitions=names)
    await world.tenant("default", max_running=50)
    await world.trigger(every_s=60)
    await take_every_advisory_lock(attacker, world)

    async with asyncio.timeout(BOUND_S):
        for definition in ("add", "limited", "rated", "keyed"):
            await world.enqueue_many(definition, 3, limit_key="k" if definition == "keyed" else None)
        await world.enqueue(queue="serial")
        leases = await worker.claim(20)
        assert sorted(lease.definition for lease in leases) == sorted(
            ["add"] * 4 + ["limited"] * 2 + ["rated"] * 2 + ["keyed"]
        )
        done = [Settlement(lease.job_id, lease.attempt, Ending.SUCCEEDED) for lease in leases]
        assert (await worker.cycle(20, *done)).stale == []

        await world.advance(minutes=1)
        await world.fire()
        assert await world.sql("select count(*) from plait.fires") == 1
        assert (await world.store.leader.count_live())[0] > 0
        await world.store.endpoints.set_endpoint(
            "e", {"url": "https://hooks.example.com/", "statuses": ["succeeded"]}, tenant_id=await world.tenant()
        )
        await world.store.leader.roll_up()
        assert await world.sql("select count(*) from plait.minutes") > 0
        job = await world.enqueue()
        await worker.succeed(next(lease for lease in await worker.claim(20) if lease.job_id == job))
        assert (await world.store.leader.announce())[0] == 1
        await world.trigger("new", every_s=60)
        await world.queue(paused=True)
        await world.queue("serial", serial=False)
        await world.queue("other", serial=True)
        assert await worker.claim(5) == []
        await world.sql("update plait.installed set functions_hash = ''")
        await migrate.migrate(world.database.admin_url)


async def test_a_tenant_that_enqueues_in_an_open_transaction_keeps_nobody_from_being_notified(
    own_world: World, attacker: asyncpg.Connection
) -> None:
    """Whatever it says of its transaction: the one that holds the lock notifies for all, and it would never commit."""
    world = own_world
    worker = await world.worker()
    assert (await worker.cycle(1, sleep=True)).claimed == []
    for _ in range(2):
        await attacker.execute(
            "select plait.enqueue_many(array[plait.uuidv7()], array['add'], array['{}'], p_in_transaction => false)"
        )
    heard = 0

    def hear(*_: object) -> None:
        nonlocal heard
        heard += 1

    async with connected(world.database.admin_url) as connection:
        await connection.add_listener("plait", hear)
        await world.enqueue()

        async def told() -> bool:
            await connection.fetchval("select 1")
            return heard > 0

        await eventually(told, what="the notification")


async def test_nobody_but_plaits_functions_reaches_its_locks(own_world: World, logins: Logins) -> None:
    roles = ("plait_client", "plait_tenant", "plait_worker", "plait_admin")
    for role in roles:
        async with connected(own_world.database.url_for(await logins.create(role))) as connection:
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
