"""Bad data (F19, T65, T66, T100, T101): an enqueue succeeds or is rejected with a reason, a job ends with a reason, and the worker survives."""

import asyncio
from dataclasses import dataclass
from typing import Any, NoReturn

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, Verbosity, given, settings
from hypothesis import strategies as st

from plait import Handle, Plait, Status
from plait.model.errors import InvalidArguments, NotSerializable
from plait.model.texts import shown
from plait.runtime.service import Stop
from plait.sdk.codec import encode
from plait.store.job_rows import JobRow
from plait.testing import TestDatabase
from plait.worker.worker import Worker

from . import isolated
from .conftest import Drain
from .hostile_values import ERRORS, FIXED, PAYLOADS, Make, errors, nested, values

CROWD = 50


@dataclass(frozen=True, slots=True, repr=False)
class Case:
    kind: str
    thing: Any

    def __repr__(self) -> str:
        return f"<{self.kind} {shown(self.thing)}>"  # shown if a test fails: the value's own repr may fail


cases = st.lists(
    st.one_of(
        values.map(lambda value: Case("argument", value)),
        values.map(lambda value: Case("result", value)),
        errors.map(lambda make: Case("error", make)),
    ),
    min_size=CROWD,
    max_size=CROWD,
)


def bounded(rounds: int) -> settings:
    return settings(
        max_examples=rounds, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,  # hypothesis would print the values, whose repr may fail
    )  # fmt: skip


class Bench:
    """An app whose jobs take, return and raise the values in `table`."""

    def __init__(self, app: Plait) -> None:
        self.app = app
        self.table: list[Any] = []

        @app.job(retries=0)
        async def echo(value: Any) -> Any:
            return value

        @app.job(retries=0)
        async def returns(index: int) -> Any:
            return self.table[index]

        @app.job(retries=0)
        def returns_in_a_thread(index: int) -> Any:
            return self.table[index]

        @app.job(retries=0)
        async def raises(index: int) -> None:
            throw(self.table[index])

        @app.job(retries=0)
        def raises_in_a_thread(index: int) -> None:
            throw(self.table[index])

        self.echo, self.returns, self.raises = echo, [returns, returns_in_a_thread], [raises, raises_in_a_thread]

    async def check(self, crowd: list[Case]) -> None:
        """Enqueue a job for each case, run them, and check each outcome."""
        self.table = [case.thing for case in crowd]
        asked: list[tuple[str, Any, Handle[Any]]] = []
        faults: list[str] = []
        for index, (kind, thing) in enumerate((case.kind, case.thing) for case in crowd):
            job = {"argument": self.echo, "result": self.returns[index % 2], "error": self.raises[index % 2]}[kind]
            try:
                asked.append((kind, thing, await job.enqueue(thing if kind == "argument" else index)))
            except (NotSerializable, InvalidArguments) as refused:
                if kind != "argument" or not str(refused).startswith("echo: "):
                    faults.append(f"{kind} {shown(thing)} was refused with {refused}")
        witness = await self.echo.enqueue("I ran")
        await asyncio.wait_for(Worker(self.app, once=True).run(Stop()), 120)
        assert await witness.result(timeout=120) == "I ran"
        for kind, thing, handle in asked:
            row = await handle.info()
            if not (
                _round_trips(thing, row, await self._result(handle))
                if row.status == Status.SUCCEEDED
                else _is_told(kind, row)
            ):
                faults.append(f"{kind} {shown(thing)} ended as {row.status}, reason {row.reason}, error {row.error}")
        assert faults == []

    async def _result(self, handle: Handle[Any]) -> Any:
        return await handle.result(timeout=120)


def throw(make: Make) -> NoReturn:
    raise make()


def _round_trips(thing: Any, row: JobRow, result: Any) -> bool:
    if thing is None:
        return row.result is None is result
    stored = encode(thing, what="it")
    return bool(row.result == stored and result == msgspec.json.decode(stored))


def _is_told(kind: str, row: JobRow) -> bool:
    """Whether the job ended as expected for its bad data, and reports the reason."""
    match kind, row.status:
        case "result", Status.FAILED:
            return row.reason == "bad_result" and bool(row.error)
        case "error", (Status.FAILED | Status.DEAD_LETTER | Status.SKIPPED):
            return bool(row.error)
        case "error", Status.SCHEDULED:
            return True  # snoozed
        case _:
            return False


@pytest.fixture
def bench(app: Plait) -> Bench:
    return Bench(app)


async def test_each_known_nasty_thing_ends_with_a_reason(bench: Bench) -> None:
    await bench.check([Case("argument", value) for value in FIXED])
    await bench.check([Case("result", value) for value in FIXED for _ in range(2)])  # on the loop and in a thread
    await bench.check([Case("error", make) for make in ERRORS for _ in range(2)])


@bounded(4)
@given(cases)
async def test_bad_data_ends_with_a_reason_and_the_worker_lives(bench: Bench, crowd: list[Case]) -> None:
    await bench.check(crowd)


@pytest.mark.full
@pytest.mark.timeout(3600)
@bounded(100)
@given(cases)
async def test_5000_cases_of_bad_data_end_with_a_reason(bench: Bench, crowd: list[Case]) -> None:
    await bench.check(crowd)


async def test_bad_data_ends_with_a_reason_in_a_process_of_its_own(database: TestDatabase, drain: Drain) -> None:
    app = isolated.app_on(database.url)
    try:
        results = [await isolated.returns.enqueue(index) for index in range(len(FIXED))]
        raised = [await isolated.raises.enqueue(index) for index in range(len(ERRORS))]
        await drain(app)
        for value, handle in zip(FIXED, results, strict=True):
            row = await handle.info()
            if row.status == Status.SUCCEEDED:
                assert row.result == (None if value is None else encode(value, what="it"))
            else:
                assert (row.status, row.reason, bool(row.error)) == (Status.FAILED, "bad_result", True)
        for handle in raised:
            row = await handle.info()
            assert row.status.final or row.status == Status.SCHEDULED
            assert row.error or row.status == Status.SCHEDULED
    finally:
        await app.close()


async def test_payloads_that_sql_put_there_end_with_a_reason(app: Plait, drain: Drain, database: TestDatabase) -> None:
    @app.job(retries=0)
    async def echo(value: Any) -> Any:
        return value

    @app.job(retries=0)
    async def typed(value: dict[str, list[int]]) -> None: ...

    connection = await asyncpg.connect(database.url)
    ids = {
        await connection.fetchval("select plait.enqueue($1, $2::json)", name, payload): (name, payload)
        for payload in PAYLOADS
        for name in ("echo", "typed")
    }
    await connection.close()
    await drain(app)
    ended = {"echo": 0, "typed": 0}
    for job_id, (name, payload) in ids.items():
        row = await app.handle(job_id).info()
        assert row.payload == payload
        if row.status == Status.SUCCEEDED:
            ended[name] += 1
            assert await app.handle(job_id).result() == msgspec.json.decode(payload)["value"]
        else:
            assert (row.status, row.reason, bool(row.error)) in {
                (Status.FAILED, "bad_payload", True),
                (Status.FAILED, "bad_result", True),
            }
    assert ended == {"echo": 4, "typed": 0}
    await everything_reads(app)


async def everything_reads(app: Plait) -> None:
    """Check that functions that list, explain or count jobs can read all stored values."""
    store = await app.store()
    jobs = store.jobs
    for row in await jobs.list_jobs(limit=1000):
        await jobs.explain_job(row.id)
        await jobs.list_attempts(row.id)
        await jobs.get_outcomes([(row.id, row.tenant_id)])
    await store.statistics.overview()


async def test_text_with_nul_is_kept_and_everything_reads_it(app: Plait, drain: Drain) -> None:
    @app.job
    async def echo(value: dict[str, str]) -> dict[str, str]:
        return value

    key = echo.options(idempotency_key="k")
    handle = await key.enqueue({"a\0": "\0"})
    assert (await key.enqueue({"a\0": "\0"})).id == handle.id
    await drain(app)
    assert await handle.result(timeout=120) == {"a\0": "\0"}
    await everything_reads(app)


async def test_a_payload_that_nests_deeper_than_python_reads_is_never_a_crash(app: Plait) -> None:
    @app.job
    async def echo(value: Any) -> Any: ...

    for depth in range(100, 3000, 50):
        try:
            handle = await echo.enqueue(nested(depth))
        except NotSerializable:
            assert depth >= 200
        else:
            assert depth < 200
            assert (await handle.info()).status == Status.QUEUED
