"""Large fan-outs: the memory of parents and workers is bounded."""

import asyncio
import signal
import sys
import time

import pytest

from plait import Handle, Plait
from plait.testing import TestDatabase

from . import scale_worker

PARENT_MB, STREAM_MB = 300, 150


async def _start(url: str, queue: str) -> asyncio.subprocess.Process:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.workflows.scale_worker", url, queue, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    assert await worker.stdout.readline() == b"ready\n"
    return worker


async def _stop(worker: asyncio.subprocess.Process) -> int:
    """Stop a worker. Returns its peak memory in megabytes."""
    worker.send_signal(signal.SIGTERM)
    output, _ = await worker.communicate()
    (line,) = [line for line in output.decode().splitlines() if line.startswith("megabytes")]
    return int(line.split()[1])


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=[pytest.mark.full, pytest.mark.timeout(600)])])
@pytest.mark.parametrize(("job", "bound"), [("gather_all", PARENT_MB), ("stream_all", STREAM_MB)])
async def test_all_results_are_seen_once_in_little_memory(
    real_clock_database: TestDatabase, count: int, job: str, bound: int
) -> None:
    app = scale_worker.app
    app.target = Plait(real_clock_database.url).target
    began = time.monotonic()
    parents = await _start(real_clock_database.url, "parents")
    leaves = await _start(real_clock_database.url, "leaves")
    try:
        handle: Handle[list[int]] = await app.jobs[job].enqueue(count)
        assert await handle.result(500) == [count, count * (count - 1) // 2]
    finally:
        took = time.monotonic() - began
        parent_mb, leaves_mb = await _stop(parents), await _stop(leaves)
        await app.close()
    print(f"{job} of {count}: {took:.1f} s, parent {parent_mb} MB, worker {leaves_mb} MB")
    assert parent_mb < bound
    assert leaves_mb < PARENT_MB
