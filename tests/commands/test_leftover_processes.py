"""A command leaves no process behind, even if it forks, calls setsid or ignores SIGTERM, or if its worker is killed (T102, F20)."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from plait import Plait
from plait.model.errors import JobCanceled, JobFailed
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.sdk.handle import Handle
from plait.testing import Kit, TestDatabase
from plait.worker.worker import Worker

NASTY = Path(__file__).with_name("stubborn_command.py")
PROCESSES = 8
SLOT_FREE_S = 2.0


@pytest.fixture
def app(database: TestDatabase) -> Plait:
    app = Plait(database.url, settings=Settings(poll=0.05))
    schema = {"type": "object", "properties": {"directory": {"type": "string"}}}
    app.command("nasty", sys.executable, [str(NASTY), "{{payload.directory}}", "600"], schema=schema, retries=0)
    return app


@pytest.fixture
async def kit(app: Plait, database: TestDatabase) -> AsyncIterator[Kit]:
    kit = Kit(app, database)
    kit.enter()
    yield kit
    await kit.exit()


async def up(directory: Path) -> list[int]:
    """Wait until every process is there; their pids. pytest's timeout bounds it."""
    while len(found := list(directory.iterdir())) < PROCESSES:
        await asyncio.sleep(0.01)  # sleep: for processes to begin
    return [int(path.name) for path in found]


async def gone(pids: list[int]) -> None:
    while any(_alive(pid) for pid in pids):
        await asyncio.sleep(0.01)  # sleep: for processes to end


def _alive(pid: int) -> bool:
    return _stat(pid)[0] not in ("", "Z")


def _stat(pid: int) -> tuple[str, int]:
    """State and parent; an empty state where there is no such process."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    return state, int(parent)


@contextlib.asynccontextmanager
async def working(app: Plait) -> AsyncIterator[Stop]:
    stop = Stop()
    async with asyncio.TaskGroup() as group:
        group.create_task(Worker(app).run(stop))
        try:
            yield stop
        finally:
            stop.request()


async def begin(app: Plait, directory: Path) -> tuple[Handle[object], list[int]]:
    directory.mkdir()
    handle = await app.jobs["nasty"].options(timeout="1h").enqueue(directory=str(directory))
    return handle, await up(directory)


async def time_out(app: Plait, directory: Path) -> None:
    directory.mkdir()
    handle = await app.jobs["nasty"].options(timeout="1s").enqueue(directory=str(directory))
    with pytest.raises(JobFailed):
        await handle.result(timeout=120)
    await gone([int(path.name) for path in directory.iterdir()])  # on a slow machine not all had begun
    [attempt] = await (await app.store()).jobs.list_attempts(handle.id)
    assert attempt.exit_code == 124
    assert attempt.started_at is not None
    assert (attempt.finished_at - attempt.started_at).total_seconds() < 1 + SLOT_FREE_S


async def cancel(app: Plait, directory: Path) -> None:
    handle, pids = await begin(app, directory)
    await handle.cancel()
    with pytest.raises(JobCanceled):
        await handle.result(timeout=120)
    await gone(pids)
    [attempt] = await (await app.store()).jobs.list_attempts(handle.id)
    assert attempt.exit_code == 130


async def kill_worker(database: TestDatabase, *directories: Path) -> None:
    """A worker of some commands is killed -9: a process of its own, for a fork of this one would share too much."""
    for directory in directories:
        directory.mkdir()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.commands.worker_main", database.url, str(NASTY), *map(str, directories)
    )
    pids = [pid for directory in directories for pid in await up(directory)]
    process.kill()
    await process.wait()
    await gone(pids)


async def test_nothing_survives_a_timeout(app: Plait, kit: Kit, tmp_path: Path) -> None:
    async with working(app):
        await time_out(app, tmp_path / "it")


async def test_nothing_survives_a_cancel(app: Plait, kit: Kit, tmp_path: Path) -> None:
    async with working(app):
        await cancel(app, tmp_path / "it")


async def test_nothing_survives_a_worker_that_is_killed(database: TestDatabase, tmp_path: Path) -> None:
    await kill_worker(database, tmp_path / "one", tmp_path / "other")


async def test_nothing_survives_a_worker_that_is_told_twice_to_stop_and_the_job_comes_back(
    app: Plait, kit: Kit, tmp_path: Path
) -> None:
    async with working(app) as stop:
        handle, pids = await begin(app, tmp_path / "it")
        stop.request()
        stop.request()
    await gone(pids)
    [attempt] = await (await app.store()).jobs.list_attempts(handle.id)
    assert (attempt.status, attempt.exit_code) == ("released", None)
    assert (await (await app.store()).jobs.get_job(handle.id)).status == "queued"


@pytest.mark.parametrize("which", ["keeper", "its child"])
async def test_nothing_survives_a_warden_that_is_killed(app: Plait, kit: Kit, tmp_path: Path, which: str) -> None:
    async with working(app):
        handle, pids = await begin(app, tmp_path / "it")
        command = next(pid for pid in pids if _stat(_stat(_stat(pid)[1])[1])[1] == os.getpid())
        child = _stat(command)[1]
        keeper = _stat(child)[1]
        os.kill(keeper if which == "keeper" else child, signal.SIGKILL)
        with pytest.raises(JobFailed, match="exited with code 137"):
            await handle.result(timeout=120)
        await gone([*pids, keeper, child])


@pytest.mark.full
async def test_nothing_survives_200_times(app: Plait, kit: Kit, database: TestDatabase, tmp_path: Path) -> None:
    """F20: 68 timeouts and 66 cancels, six at a time, and 66 commands of killed workers, three to a worker."""
    runs = [*(lambda n=n: time_out(app, tmp_path / f"timeout {n}") for n in range(68))]
    runs += [*(lambda n=n: cancel(app, tmp_path / f"cancel {n}") for n in range(66))]
    places = asyncio.Semaphore(6)

    async def one(run: object) -> None:
        async with places:
            await run()  # type: ignore[operator]

    async with working(app), asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(one(run))
    for number in range(22):
        await kill_worker(database, *(tmp_path / f"killed {number} {n}" for n in range(3)))
    assert len(list(tmp_path.iterdir())) == 200
