"""The archive: retention writes the jobs that it deletes to files, one for each batch and tenant.

    tenant=acme/day=2030-01-01/<first job's id>-<random>.jsonl

A batch is written before the transaction that deletes its jobs commits, so every deleted job is in the archive. If a process dies between
the two, the jobs in its file still exist and are archived again. Therefore a job may be in the archive twice, with the same id.
"""

import asyncio
import io
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import Literal
from uuid import UUID, uuid4

import msgspec

from plait.model.errors import StorageFailed
from plait.runtime.object_storage import Objects

Format = Literal["jsonl", "parquet"]

PATIENCE_S = 10.0
AT_ONCE = 8
"""Number of files that are written concurrently; each waits for the disk or the network."""


class _Job(msgspec.Struct):
    id: UUID
    definition: str
    queue: str
    created_at: datetime


class _Line(msgspec.Struct):
    """The fields of a line that are decoded. The line itself is copied unchanged, because a payload may contain anything (T101)."""

    tenant: str
    status: str
    finished_at: datetime
    job: _Job


_DECODER = msgspec.json.Decoder(_Line)


class Archive:
    def __init__(self, objects: Objects, form: Format = "jsonl") -> None:
        if form == "parquet" and not find_spec("pyarrow"):
            raise StorageFailed("a Parquet archive requires an extra: pip install 'plait[parquet]'")
        self._objects = objects
        self._form = form

    async def put(self, lines: Sequence[str], now: datetime) -> None:
        """Store the lines. The time is limited, because a transaction stays open during the write, and a long transaction slows down the
        whole database."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._put(lines, now)
        except TimeoutError:
            raise StorageFailed(f"archiving {len(lines)} jobs took more than {PATIENCE_S:g} s") from None

    async def _put(self, lines: Sequence[str], now: datetime) -> None:
        by_tenant: defaultdict[str, list[tuple[_Line, str]]] = defaultdict(list)
        for text in lines:
            line = _DECODER.decode(text)
            by_tenant[line.tenant].append((line, text))
        at_once = asyncio.Semaphore(AT_ONCE)

        async def put(tenant: str, jobs: list[tuple[_Line, str]]) -> None:
            async with at_once:
                name = f"tenant={tenant}/day={now:%Y-%m-%d}/{jobs[0][0].job.id}-{uuid4().hex[:8]}.{self._form}"
                data = await asyncio.to_thread(_parquet if self._form == "parquet" else _jsonl, jobs)
                await self._objects.put(name, data)

        await asyncio.gather(*(put(tenant, jobs) for tenant, jobs in by_tenant.items()))


def _jsonl(jobs: list[tuple[_Line, str]]) -> bytes:
    return "".join(f"{text}\n" for _, text in jobs).encode()


def _parquet(jobs: list[tuple[_Line, str]]) -> bytes:
    """One column for each common search field, and one for the whole line."""
    import pyarrow as arrow
    import pyarrow.parquet

    moment = arrow.timestamp("us", tz="UTC")
    columns = {
        "id": arrow.array([str(line.job.id) for line, _ in jobs], arrow.string()),
        "definition": arrow.array([line.job.definition for line, _ in jobs], arrow.string()),
        "queue": arrow.array([line.job.queue for line, _ in jobs], arrow.string()),
        "status": arrow.array([line.status for line, _ in jobs], arrow.string()),
        "created_at": arrow.array([line.job.created_at for line, _ in jobs], moment),
        "finished_at": arrow.array([line.finished_at for line, _ in jobs], moment),
        "line": arrow.array([text for _, text in jobs], arrow.large_string()),
    }
    buffer = io.BytesIO()
    arrow.parquet.write_table(arrow.table(columns), buffer, compression="zstd")
    return buffer.getvalue()
