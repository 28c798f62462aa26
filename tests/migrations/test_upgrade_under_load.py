"""F25: a database is migrated while workers of the previous release run, and new workers join."""

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

from plait.model.ids import DEFAULT_TENANT, new_id
from plait.store import Store
from plait.store import migrate as migrating
from plait.store.dev_login import ensure_dev_login
from plait.store.migrate import OLDEST, migrate, schema_version
from plait.store.new_jobs import NewJob
from plait.testing import TestDatabase, TestServer

from ..access.logins import connected
from ..waiting import eventually
from .releases import frozen, next_release

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Pair:
    """The sources of two releases, one after the other."""

    old: Path
    new: Path
    database: TestDatabase
    """Of the old one."""


@pytest.fixture(params=["next", "previous"])
async def pair(
    request: pytest.FixtureRequest,
    server: TestServer,
    empty: TestDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Pair]:
    """This release and a next one that the test makes; and the release before with this one, where it may run beside it."""
    if request.param == "next":
        await migrate(empty.admin_url)
        shutil.copytree(
            ROOT / "plait", tmp_path / "plait", ignore=shutil.ignore_patterns("static", "__pycache__", "sql")
        )
        monkeypatch.setattr(migrating, "SQL", next_release(tmp_path / "plait"))
        yield Pair(ROOT, tmp_path, empty)
        return
    if schema_version() <= OLDEST:
        pytest.skip("no release before this one may run beside it")
    old = _previous_source(tmp_path)
    database = await frozen(server, schema_version() - 1)
    async with connected(database.admin_url) as admin:
        tables = await admin.fetchval(JOBS_TABLES)
        await admin.execute(f"truncate {tables}")
    yield Pair(old, ROOT, database)
    await server.drop_database(database)


JOBS_TABLES = """
select string_agg(distinct attrelid::regclass::text, ', ') from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'plait'::regnamespace and c.relkind = 'r' and (attname = 'job_id' or relname in ('jobs', 'fan_outs', 'triggers', 'dependencies'))
"""


def _previous_source(directory: Path) -> Path:
    """The source as it was when the schema before this one was frozen: the last commit without this schema's migration."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("the release before is taken from the history, and here is none: needs git and a clone")

    def run(*arguments: str) -> bytes:
        return subprocess.run([git, "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout

    [file] = (ROOT / "plait" / "sql" / "migrations").glob(f"{schema_version():04}_*.sql")
    added = run("log", "--diff-filter=A", "--format=%H", "--", str(file.relative_to(ROOT))).decode().split()
    if not added:
        pytest.skip(f"the history has no commit that adds {file.name}: a shallow clone?")
    source = run("archive", f"{added[-1]}~1", "plait")
    with tarfile.open(fileobj=BytesIO(source)) as archive:
        archive.extractall(directory, filter="data")
    schemas = (directory / "plait" / "sql" / "migrations").glob("*.sql")
    assert max(int(path.name.split("_")[0]) for path in schemas) == schema_version() - 1
    return directory


@asynccontextmanager
async def worker(url: str, source: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    path = os.pathsep.join([str(source), str(ROOT)])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "tests.migrations.release_worker", url,
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, cwd="/",
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    lines: list[bytes] = []

    async def read() -> None:
        assert process.stdout is not None
        lines.extend([line async for line in process.stdout])

    reading = asyncio.ensure_future(read())
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await reading
        # The error of a function that is replaced during a call is retried, and logged as a warning.
        assert not [line for line in lines if b'"level": "error"' in line or b"Traceback" in line], lines


@pytest.mark.parametrize("jobs", [600, pytest.param(20_000, marks=pytest.mark.full)])
async def test_old_and_new_workers_run_side_by_side_through_a_migration(pair: Pair, jobs: int) -> None:
    database = pair.database
    async with connected(database.admin_url) as admin:
        await ensure_dev_login(database.admin_url)
        async with worker(database.url, pair.old):
            await eventually(lambda: _has_worker(admin, 1), what="the old worker's registration")
            # By the old code's own function, before and while it is migrated.
            enqueue = "select plait.enqueue_many(array[$1]::uuid[], array['add'], array[$2], array[$3]::uuid[])"
            both = asyncio.Event()

            async def load() -> int:
                for n in itertools.count():
                    if n >= jobs and both.is_set():
                        return n
                    await admin.fetch(enqueue, new_id(), f'{{"a": {n}, "b": 1}}', DEFAULT_TENANT)
                raise AssertionError

            loading = asyncio.ensure_future(load())
            await eventually(lambda: _some_ended(database.admin_url), what="the first job's end")
            await migrate(database.admin_url)
            async with worker(database.url, pair.new):
                await eventually(
                    lambda: _workers_of_some(database.admin_url, 2), what="both to have worked", within=240
                )
                both.set()
                asked = await loading
                store = await Store.open(database.url)
                await store.jobs.enqueue_many(
                    [NewJob(id=new_id(), definition="add", payload='{"a": 1, "b": 1}', tenant_id=DEFAULT_TENANT)]
                )
                await eventually(lambda: _all_ended(admin, asked + 1), what="the end of all jobs", within=240)
                await store.close()
        by = dict(
            map(
                tuple,
                await admin.fetch("select worker, count(*) from plait.attempts where status = 'succeeded' group by 1"),
            )
        )
        assert sum(by.values()) == asked + 1
        assert len(by) >= 2
        assert (
            await admin.fetchval(
                "select count(*) from plait.attempts where status not in ('succeeded', 'released', 'lost')"  # lost: on a machine that is busy
            )
            == 0
        )


async def _has_worker(admin: object, n: int) -> bool:
    found = await admin.fetchval("select count(*) from plait.workers where state = 'alive' and definitions = '{add}'")  # type: ignore[attr-defined]
    return bool(found >= n)


async def _some_ended(url: str) -> bool:
    async with connected(url) as connection:
        return bool(await connection.fetchval("select exists (select from plait.attempts)"))


async def _workers_of_some(url: str, n: int) -> bool:
    async with connected(url) as connection:
        return bool(await connection.fetchval("select count(distinct worker) from plait.attempts") >= n)


async def _all_ended(admin: object, n: int) -> bool:
    return bool(await admin.fetchval("select count(*) from plait.attempts where final is not null") == n)  # type: ignore[attr-defined]
