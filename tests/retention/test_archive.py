"""The archive: jobs are on disk before retention deletes them."""

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.parquet
import pytest

from plait.leader.archive import Archive
from plait.leader.prune import Prune
from plait.model.errors import StorageFailed
from plait.runtime.object_storage import Directory
from plait.store.leader import Retention

from ..harness import Harness
from ..workflows.worker_calls import claim_children, open_fan_outs

DAY = timedelta(days=1)
KEEP = Retention(succeeded=DAY, canceled=DAY)


def lines_in(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(directory.rglob("*.jsonl")) for line in path.read_text().splitlines()]


def archive_in(directory: Path) -> Archive:
    return Archive(Directory(directory))


async def canceled(harness: Harness, n: int, **options: Any) -> list[UUID]:
    jobs = await harness.enqueue_many("add", n, **options)
    for job in jobs:
        await harness.cancel(job, tenant=options.get("tenant", "default"))
    return jobs


async def test_a_job_is_archived_as_it_was_and_then_forgotten(harness: Harness, tmp_path: Path) -> None:
    worker = await harness.worker()
    job = await harness.enqueue("add", payload='{\n  "a": 1,\r\n "text": "x\\ny"\n}', correlation_id="c")
    await worker.fail(await worker.claim_one())
    await harness.advance(seconds=10)
    await harness.promote()
    await worker.succeed(await worker.claim_one(), result={"n": 2})
    await harness.advance(days=2)
    await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    assert await harness.sql("select count(*) from plait.jobs") == 0
    [line] = lines_in(tmp_path)
    assert (line["job"]["id"], line["tenant"], line["status"]) == (str(job), "default", "succeeded")
    assert line["job"]["payload"] == {"a": 1, "text": "x\ny"}
    assert line["job"]["correlation_id"] == "c"
    assert [attempt["status"] for attempt in line["attempts"]] == ["failed", "succeeded"]
    assert line["attempts"][1]["result"] == {"n": 2}


async def test_a_payload_that_python_could_not_read_is_archived_all_the_same(harness: Harness, tmp_path: Path) -> None:
    """T101"""
    digits = "9" * 5000
    await canceled(harness, 1, payload=f'{{"n": {digits}}}')
    await harness.advance(days=2)
    await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    [path] = tmp_path.rglob("*.jsonl")
    assert digits in path.read_text()


async def test_each_tenant_has_files_of_its_own(harness: Harness, tmp_path: Path) -> None:
    acme = await canceled(harness, 3, tenant="acme")
    other = await canceled(harness, 2, tenant="other")
    await harness.advance(days=2)
    await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    for tenant, jobs in (("acme", acme), ("other", other)):
        [path] = (tmp_path / f"tenant={tenant}").glob("day=2030-01-03/*.jsonl")
        assert {json.loads(line)["job"]["id"] for line in path.read_text().splitlines()} == set(map(str, jobs))


async def test_a_tree_is_archived_with_its_steps_and_fan_outs(harness: Harness, tmp_path: Path) -> None:
    [parent] = await open_fan_outs(harness, 1, 3)
    worker, leases = await claim_children(harness, 3)
    for lease in leases:
        await worker.succeed(lease)
    parents = await harness.worker()
    await parents.succeed(await parents.claim_one())
    await harness.advance(days=2)
    await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    lines = {line["job"]["id"]: line for line in lines_in(tmp_path)}
    assert lines.keys() == {str(parent), *(str(lease.job_id) for lease in leases)}
    assert len(lines[str(parent)]["fan_outs"]) == 1
    assert (
        await harness.sql("select count(*) from plait.steps") + await harness.sql("select count(*) from plait.fan_outs")
        == 0
    )


async def test_what_cannot_be_archived_is_not_forgotten(harness: Harness, tmp_path: Path) -> None:
    await canceled(harness, 3)
    await harness.advance(days=2)
    (tmp_path / "tenant=default").write_text("in the way")
    with pytest.raises(StorageFailed):
        await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    assert await harness.counts() == {"canceled": 3}


class Slow(Directory):
    """A disk or a network that is slow for each file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.forever = asyncio.Event()

    async def put(self, name: str, data: bytes) -> None:
        if data.count(b"\n") > 4:
            await self.forever.wait()
        await super().put(name, data)


async def test_an_archive_that_is_slow_holds_no_transaction_open_for_long(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T114: the batches become smaller until one succeeds."""
    monkeypatch.setattr("plait.leader.archive.PATIENCE_S", 0.05)
    monkeypatch.setattr("plait.leader.prune.BATCH", 16)
    await canceled(harness, 20)
    await harness.advance(days=2)
    duty = Prune(KEEP, Archive(Slow(tmp_path)))
    for _ in range(2):
        with pytest.raises(StorageFailed, match=r"more than 0.05 s"):
            await duty.run(harness.store)
    assert await harness.counts() == {"canceled": 20}
    monkeypatch.setattr("plait.leader.archive.PATIENCE_S", 60)
    await duty.run(harness.store)
    assert await harness.counts() == {"canceled": 16}
    assert len(lines_in(tmp_path)) == 4


async def test_a_leader_that_dies_between_archive_and_commit_loses_nothing(harness: Harness, tmp_path: Path) -> None:
    """T105: every job is archived, once or twice."""
    jobs = await canceled(harness, 20)
    await harness.advance(days=2)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.retention.archive_main", harness.database.url, str(tmp_path)
    )
    assert await process.wait() == -9
    assert len(lines_in(tmp_path)) == 20
    assert await harness.counts() == {"canceled": 20}
    while await harness.sql("select count(*) from plait.jobs"):  # until the server has released its locks
        await Prune(KEEP, archive_in(tmp_path)).run(harness.store)
    told = [line["job"]["id"] for line in lines_in(tmp_path)]
    assert set(told) == set(map(str, jobs))
    assert len(told) == 40


async def test_batches_shrink_where_jobs_are_large(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plait.leader.prune.ARCHIVED_AT_ONCE", 20_000)
    monkeypatch.setattr("plait.leader.prune.BATCH", 16)
    await canceled(harness, 60, payload={"text": "x" * 4000})
    await harness.advance(days=2)
    duty = Prune(KEEP, archive_in(tmp_path))
    while await harness.sql("select count(*) from plait.jobs"):
        await duty.run(harness.store)
    sizes = [len(path.read_text().splitlines()) for path in sorted(tmp_path.rglob("*.jsonl"))]
    assert sum(sizes) == 60
    assert min(sizes[:-1]) < 8


async def test_parquet_has_columns_to_look_for_by_and_the_whole_line(harness: Harness, tmp_path: Path) -> None:
    jobs = await canceled(harness, 3, tenant="acme")
    await harness.advance(days=2)
    await Prune(KEEP, Archive(Directory(tmp_path), "parquet")).run(harness.store)
    [path] = tmp_path.rglob("*.parquet")
    table = pyarrow.parquet.ParquetFile(path).read()
    assert table.column("id").to_pylist() == sorted(map(str, jobs))
    assert set(table.column("status").to_pylist()) == {"canceled"}
    assert json.loads(table.column("line").to_pylist()[0])["job"]["definition"] == "add"
    assert table.column("created_at").to_pylist()[0] == (await harness.now()) - timedelta(days=2)
