"""kill -9 of the parent's worker at every boundary: children exist once, recorded results are used, the outcome is correct."""

from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from plait import Handle, Plait
from plait.testing import TestDatabase

from ..invariants import violations
from ..restarting_workers import restarting_workers
from . import worker_main


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=[pytest.mark.full, pytest.mark.timeout(1800)])])
async def test_a_kill_at_any_boundary_changes_nothing(
    real_clock_database: TestDatabase, tmp_path: Path, times: int
) -> None:
    """T2, T4, T10, T34."""
    app = worker_main.app
    app.target = Plait(real_clock_database.url).target
    # The children of this case wait until its process has died while it unwinds the handler. A kill of another case just before that would make them wait for ever.
    alone = "after suspend"
    together = [here for here in worker_main.BOUNDARIES if here != alone]
    batches = [[f"{here} {n}" for here in batch] for n in range(times) for batch in (together, [alone])]
    cases = [case for batch in batches for case in batch]
    async with restarting_workers(worker_main.__name__, real_clock_database.url, tmp_path):
        for batch in batches:
            handles = await worker_main.parent.enqueue_many([(str(tmp_path), case) for case in batch])
            for case, handle in zip(batch, handles, strict=True):
                await _check(app, handle, case, tmp_path, await handle.result(120))
    assert {path.name for path in tmp_path.glob("died *")} == {f"died {case}" for case in cases}
    connection = await asyncpg.connect(real_clock_database.admin_url)
    assert await violations(connection) == []
    await connection.close()
    await app.close()


async def _check(app: Plait, handle: Handle[Any], case: str, directory: Path, result: list[str]) -> None:
    jobs = (await app.store()).jobs
    steps = await jobs.list_steps(handle.id)
    assert [step.kind for step in steps] == ["call", "call", "fan_out", "call"], case
    recorded = [msgspec.json.decode(step.value) for step in steps if step.value]
    assert result == [*recorded, *(str(n * 10) for n in range(worker_main.CHILDREN))], case
    assert len(await handle.tree()) == 1 + worker_main.CHILDREN, case
    # Each step ran once, except a step in progress when another job's kill ended the process.
    for which in ("first", "second", "third"):
        assert (directory / f"{which} {case}").exists()
