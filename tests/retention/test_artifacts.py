"""Artifacts: payloads and results that are too large for a row are stored by reference, readable through their job only."""

import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from plait import Nodes, Plait, PlaitError, after, continue_as_new, dependencies, fan_out, spawn, sub, values
from plait.leader.sweep import Sweep
from plait.model.errors import ArtifactAltered, ArtifactMissing, InvalidJob, JobFailed, TooLarge
from plait.runtime.object_storage import Directory
from plait.runtime.settings import Settings
from plait.sdk.codec import MAX_BYTES
from plait.store.leader import Retention
from plait.testing import Kit, TestDatabase

from ..harness import Harness
from . import isolated
from .conftest import Drain

LARGE = "ä" * MAX_BYTES
"""Larger than a row may be, by its bytes."""


def files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


async def payload_of(harness: Harness, job: UUID) -> Any:
    return json.loads(await harness.sql("select payload::text from plait.jobs where id = $1", job))


async def test_handlers_and_callers_see_the_value(app: Plait, drain: Drain, place: Path, app_harness: Harness) -> None:
    @app.job
    async def echo(text: str) -> str:
        return text

    handle = await echo.enqueue(LARGE)
    data = json.dumps({"text": LARGE}, ensure_ascii=False, separators=(",", ":")).encode()
    reference = {"$artifact": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}}
    assert await payload_of(app_harness, handle.id) == reference
    [path] = files(place)
    assert path.read_bytes() == data
    assert path.parent.name == str(await app.tenant_id()), "a tenant's are apart"
    await drain(app)
    assert await handle.result(timeout=120) == LARGE
    assert len(files(place)) == 2
    assert {row["kind"] for row in await app_harness.rows("select kind from plait.artifacts")} == {"payload", "result"}


async def test_what_is_small_enough_stays_in_its_row(app: Plait, drain: Drain, place: Path) -> None:
    @app.job
    async def echo(text: str) -> str:
        return text

    text = "x" * (MAX_BYTES - 20)
    handle = await echo.enqueue(text)
    await drain(app)
    assert await handle.result(timeout=120) == text
    assert files(place) == []


async def test_in_threads_and_in_processes_too(app: Plait, drain: Drain, place: Path, database: TestDatabase) -> None:
    @app.job
    def threaded(text: str) -> str:
        return text

    handle = await threaded.enqueue(LARGE)
    await drain(app)
    assert await handle.result(timeout=120) == LARGE

    other = isolated.app
    other.settings, other.target = app.settings, Plait(database.url).target
    doubled = await isolated.double.enqueue(LARGE)
    await drain(other)
    assert await doubled.result(timeout=120) == LARGE * 2
    await other.close()


async def test_sub_jobs_get_and_give_large_values(app: Plait, drain: Drain, app_harness: Harness) -> None:
    @app.job
    async def echo(text: str) -> str:
        return text

    @app.job
    async def parent(n: int) -> str:
        results = await fan_out([sub(echo, LARGE) for _ in range(n)])
        assert values(results) == [LARGE] * n
        spawned = await spawn(echo, LARGE)
        with pytest.raises(TooLarge):
            await after(echo, LARGE)
        return str(spawned.id)

    handle = await parent.enqueue(2)
    for _ in range(3):
        await drain(app)
    spawned = app.handle(await handle.result(timeout=120))
    assert await spawned.result(timeout=120) == LARGE
    assert await app_harness.sql("select count(*) from plait.artifacts") == 6


async def test_chains_dependents_and_continued_runs_get_large_values(
    app: Plait, drain: Drain, app_harness: Harness
) -> None:
    @app.job
    async def make() -> str:
        return "x" * 3_000_000

    @app.job
    async def measure(text: str, times: int = 1) -> int:
        [made] = await dependencies()
        assert made.value == text
        return len(text) * times

    @app.job
    async def again(text: str = "") -> int:
        if not text:
            await continue_as_new("y" * 2_000_000)
        return len(text)

    *_, last = await app.chain(sub(make), sub(measure, 2))
    handle = await again.enqueue()
    await drain(app)
    assert await last.result(timeout=120) == 6_000_000
    assert await handle.result(timeout=120) == 2_000_000


async def test_a_node_jobs_parts_and_its_leader_see_large_values(app: Plait, database: TestDatabase) -> None:
    kit = Kit(app, database)

    @app.node_job()
    async def on_node(text: str) -> str:
        return text

    @on_node.on_leader
    async def on_leader(nodes: Nodes[str], text: str) -> bool:
        return list(nodes.values().values()) == [text]

    handle = await on_node.enqueue(LARGE)
    await kit.run_until_idle()
    assert await handle.result(timeout=120) is True


async def test_a_sync_caller_and_a_transaction_of_the_callers(
    app: Plait, drain: Drain, database: TestDatabase, app_harness: Harness
) -> None:
    import psycopg

    @app.job
    async def size(text: str) -> int:
        return len(text)

    async with app_harness.connection() as conn, conn.transaction():
        inside = await size.options(conn=conn).enqueue(LARGE)
    with psycopg.connect(database.url) as plain:
        synced = size.options(conn=plain).enqueue_sync(LARGE)
    async with app_harness.connection() as conn:
        transaction = conn.transaction()
        await transaction.start()
        rolled_back = (await size.options(conn=conn).enqueue(LARGE)).id
        await transaction.rollback()
    await drain(app)
    assert await inside.result(timeout=120) == await synced.result(timeout=120) == len(LARGE)
    assert await app_harness.sql("select count(*) from plait.jobs where id = $1", rolled_back) == 0


async def test_the_same_large_payload_with_the_same_idempotency_key_is_the_same_job(app: Plait) -> None:
    @app.job
    async def size(text: str) -> int:
        return len(text)

    first = await size.options(idempotency_key="k").enqueue(LARGE)
    again = await size.options(idempotency_key="k").enqueue(LARGE)
    assert again.deduplicated
    assert again.id == first.id
    with pytest.raises(PlaitError):
        await size.options(idempotency_key="k").enqueue(LARGE + "!")


async def test_a_missing_artifact_is_a_clear_error(app: Plait, drain: Drain, place: Path) -> None:
    @app.job(retries=0)
    async def echo(text: str) -> str:
        return text

    gone, read = await echo.enqueue(LARGE), await echo.enqueue(LARGE)
    files(place)[0].unlink()
    await drain(app)
    failed = [handle for handle in (gone, read) if (await handle.status()) == "dead_letter"]
    assert len(failed) == 1
    with pytest.raises(JobFailed, match="no longer in the artifact store"):
        await failed[0].result(timeout=120)
    for path in files(place):
        path.unlink()
    [other] = {gone, read} - set(failed)
    with pytest.raises(ArtifactMissing):
        await other.result(timeout=120)


async def test_altered_bytes_are_an_error_and_never_an_answer(app: Plait, drain: Drain, place: Path) -> None:
    @app.job(retries=0)
    async def echo(text: str) -> str:
        return text

    handle = await echo.enqueue(LARGE)
    [payload] = files(place)
    await drain(app)
    [result] = set(files(place)) - {payload}
    result.write_bytes(result.read_bytes().replace("ä".encode(), "ö".encode(), 1))
    with pytest.raises(ArtifactAltered):
        await handle.result(timeout=120)
    other = await echo.enqueue(LARGE)
    [path] = set(files(place)) - {payload, result}
    path.write_bytes(b'{"text": "of somebody else"}')
    await drain(app)
    with pytest.raises(JobFailed, match="was changed in the artifact store"):
        await other.result(timeout=120)


async def test_nobody_reads_anothers_artifact_by_writing_its_reference(
    app: Plait, drain: Drain, app_harness: Harness
) -> None:
    """The attack: a job's payload or result is a reference to an artifact of another job, of the same or another tenant."""

    @app.job(retries=0)
    async def echo(text: str) -> str:
        return text

    @app.job(retries=0)
    async def forge(reference: dict[str, Any]) -> dict[str, Any]:
        return reference

    victim = await echo.options(tenant=str(await app_harness.tenant("victim"))).enqueue(LARGE)
    reference = await payload_of(app_harness, victim.id)
    for tenant in ("victim", "attacker"):
        job = await app_harness.enqueue("echo", tenant=tenant, payload=json.dumps(reference, separators=(",", ":")))
        forged = await forge.options(tenant=str(await app_harness.tenant(tenant))).enqueue(reference)
        await drain(app)
        assert await app_harness.status(job) == "failed"
        assert (await app_harness.attempts(job))[-1].reason == "bad_payload"
        assert await forged.result(timeout=120) == reference, "a user's own JSON of that shape stays what it is"
    assert await victim.result(timeout=120) == LARGE


async def test_what_only_looks_like_a_reference_stays_what_it_is(app: Plait, drain: Drain) -> None:
    @app.job
    async def echo(value: Any) -> Any:
        return value

    shapes: list[Any] = [1, {}, {"sha256": "x", "size": 1}, {"sha256": "0" * 64, "size": 1}, None, {"sha256": 5}]
    for value in ({"$artifact": shape} for shape in shapes):
        handle = await echo.enqueue(value)
        await drain(app)
        assert await handle.result(timeout=120) == value


async def test_without_a_store_the_bound_holds_and_the_error_says_what_to_do(
    database: TestDatabase, drain: Drain
) -> None:
    app = Plait(database.url, settings=Settings(poll=0.05, listen=False))

    @app.job(retries=0)
    async def repeat(text: str, n: int) -> str:
        return text * n

    with pytest.raises(TooLarge, match="PLAIT_ARTIFACTS"):
        await repeat.enqueue(LARGE, 1)
    handle = await repeat.enqueue("x", 2 * MAX_BYTES)
    await drain(app)
    with pytest.raises(JobFailed, match="PLAIT_ARTIFACTS"):
        await handle.result(timeout=120)
    await app.close()


async def test_an_artifact_has_a_bound_too(database: TestDatabase, place: Path) -> None:
    app = Plait(database.url, settings=Settings(artifacts=str(place), artifact_size=MAX_BYTES + 100))

    @app.job
    async def size(text: str) -> int:
        return len(text)

    await size.enqueue("x" * MAX_BYTES)
    with pytest.raises(TooLarge, match="artifacts are limited to"):
        await size.enqueue("x" * (MAX_BYTES + 100))
    await app.close()


async def sweep(harness: Harness, place: Path) -> None:
    duty = Sweep(Directory(place))
    while await duty.run(harness.store) == 0:
        pass


async def test_artifacts_go_with_their_job(app: Plait, drain: Drain, place: Path, app_harness: Harness) -> None:
    @app.job
    async def echo(text: str) -> str:
        return text

    await echo.enqueue(LARGE)
    await drain(app)
    await app_harness.advance(days=2)
    await sweep(app_harness, place)
    assert len(files(place)) == 2, "its job is there"
    await app_harness.store.leader.prune(Retention(succeeded=timedelta(days=1)))
    await sweep(app_harness, place)
    assert files(place) == []
    assert await app_harness.sql("select count(*) from plait.artifacts") == 0


async def test_what_a_crash_left_behind_is_swept_after_a_day(app: Plait, place: Path, app_harness: Harness) -> None:
    """Crashes before the job was stored, and before the bytes were stored."""
    artifacts = await app.artifacts()
    tenant, large = await app.tenant_id(), TooLarge("too large", LARGE)
    job = (await app_harness.new_job()).id
    await artifacts.keep(large, job_id=job, tenant_id=tenant, kind="payload")
    await app_harness.store.artifacts.register_artifact(job, "result", sha256="0" * 64, size=5, tenant_id=tenant)
    await app_harness.advance(hours=23)
    await sweep(app_harness, place)
    assert len(files(place)) == 1
    await app_harness.advance(hours=2)
    await sweep(app_harness, place)
    assert files(place) == []
    assert await app_harness.sql("select count(*) from plait.artifacts") == 0


async def test_bytes_that_cannot_be_removed_are_tried_again(place: Path, app_harness: Harness, app: Plait) -> None:
    tenant, job = await app.tenant_id(), (await app_harness.new_job()).id
    artifact = await app_harness.store.artifacts.register_artifact(
        job, "payload", sha256="0" * 64, size=5, tenant_id=tenant
    )
    await app_harness.advance(days=2)
    place.mkdir()
    (place / str(tenant)).write_text("in the way")
    with pytest.raises(PlaitError):
        await sweep(app_harness, place)
    assert await app_harness.sql("select doomed_at is not null from plait.artifacts where id = $1", artifact)
    assert await app_harness.store.artifacts.find_artifact(job, "0" * 64, tenant_id=tenant) is None
    (place / str(tenant)).unlink()
    await app_harness.advance(minutes=2)
    await sweep(app_harness, place)
    assert await app_harness.sql("select count(*) from plait.artifacts") == 0
    # The same bytes for the same job later get a new artifact, which is not removed in place of the first one.
    assert artifact != await app_harness.store.artifacts.register_artifact(
        job, "payload", sha256="0" * 64, size=5, tenant_id=tenant
    )


async def test_a_forked_job_has_the_payload_of_the_job_before(app: Plait, drain: Drain, app_harness: Harness) -> None:
    @app.job(retries=0)
    async def size(text: str) -> int:
        return len(text)

    first = await size.enqueue(LARGE)
    await drain(app)
    store = await app.store()
    forked = await store.jobs.fork(first.id, tenant_id=await app.tenant_id())
    await drain(app)
    assert await app.handle(forked, definition="size").result(timeout=120) == len(LARGE)


@pytest.mark.parametrize(
    "bad", [{"kind": "other"}, {"sha256": "z" * 64}, {"size": 0}, {"sha256": None}, {"kind": None}, {"job": None}]
)
async def test_an_artifact_that_is_none_is_refused(app_harness: Harness, bad: dict[str, Any]) -> None:
    given = {"job": (await app_harness.new_job()).id, "kind": "payload", "sha256": "0" * 64, "size": 5, **bad}
    with pytest.raises((InvalidJob, asyncpg.DataError)):
        await app_harness.store.artifacts.register_artifact(
            given["job"],
            given["kind"],
            sha256=given["sha256"],
            size=given["size"],
            tenant_id=await app_harness.tenant(),
        )
