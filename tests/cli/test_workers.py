"""`plait workers`: lists by state, the history of workers that ended, and the page of one."""

import asyncio

import pytest

from plait.testing import TestDatabase

from ..harness import Harness
from .conftest import RunPlait


@pytest.fixture
def ended(database: TestDatabase) -> tuple[int, int, int]:
    """An alive worker, one that was lost with two jobs, and one that left."""

    async def make() -> tuple[int, int, int]:
        harness = await Harness.open(database)
        await harness.enqueue_many("add", 2)
        alive, lost, gone = [await harness.worker() for _ in range(3)]
        await lost.claim(2)
        await harness.lose(lost)
        await harness.rescue()
        await gone.leave()
        await harness.close()
        return alive.id, lost.id, gone.id

    return asyncio.run(make())


def test_workers_are_listed_by_default_and_by_state(plait_on: RunPlait, ended: tuple[int, int, int]) -> None:
    assert [row["id"] for row in plait_on("workers", "--json").json] == list(ended)
    for state, worker in zip(("alive", "lost", "gone"), ended, strict=True):
        [row] = plait_on("workers", "list", "--state", state, "--json").json
        assert (row["id"], row["state"]) == (worker, state)
    assert plait_on("workers", "list", "--state", "stale").err == "No stale workers.\n"
    assert plait_on("workers", "list", "--state", "dead").code == 2


def test_the_history_tells_lost_workers_from_those_that_left(plait_on: RunPlait, ended: tuple[int, int, int]) -> None:
    _, lost, gone = ended
    rows = plait_on("workers", "history", "--json").json
    assert [(row["id"], row["end_reason"], row["requeued"]) for row in rows] == [
        (gone, "left", 0),
        (lost, "lease_expired", 2),
    ]
    shown = plait_on("workers", "history", "--state", "lost")
    assert "lease_expired" in shown.out
    assert " left " not in shown.out
    first = plait_on("workers", "history", "--limit", "1")
    assert first.err == f"There may be more: --before {gone}\n"
    assert plait_on("workers", "history", "--host", "nowhere").err == "No such worker ended in the last 30 days.\n"


def test_the_page_of_a_lost_worker_shows_its_last_jobs(plait_on: RunPlait, ended: tuple[int, int, int]) -> None:
    alive, lost, gone = ended
    shown = plait_on("workers", "show", str(lost)).out
    assert "2 when it ended: 2 requeued, 0 dead letters, 0 canceled" in shown
    assert shown.count(" add ") == 2
    page = plait_on("workers", "show", str(lost), "--json").json
    assert [job["status"] for job in page["last_jobs"]] == ["queued", "queued"]
    assert "0 released" in plait_on("workers", "show", str(gone)).out
    assert "0 running, 0 prefetched" in plait_on("workers", "show", str(alive)).out
    missing = plait_on("workers", "show", "1000000")
    assert missing.code != 0
    assert "there is no worker 1000000" in missing.err
