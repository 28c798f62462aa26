"""The disk of the database is full for a while (F21): acknowledged jobs are stored, and run."""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx
import pytest

from plait import Plait
from plait.embedded.postgres import EmbeddedPostgres
from plait.leader.leader import Leader
from plait.leader.promote import Promote
from plait.leader.rescue import Rescue
from plait.model.errors import PlaitError
from plait.model.roles import Role
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import TestServer
from plait.worker.worker import Worker

from ..api.api_client import new_key
from ..api.api_server import serve_api
from ..invariants import violations
from ..waiting import eventually

SIZE_MB, BALLAST_MB = 192, 64
SETTINGS = {"shared_buffers": "16MB", "min_wal_size": "32MB", "max_wal_size": "48MB", "max_connections": "30"}


@pytest.fixture
def small_disk() -> Iterator[Path]:
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small file system needs root, and `mount`")
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))  # a short path: a socket lies below it
    options = ["-t", "tmpfs", "-o", f"size={SIZE_MB}m,mode=755", "tmpfs", str(directory)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if mounted.returncode:
        directory.rmdir()
        pytest.skip(f"this machine lets nobody mount a small file system: {mounted.stderr.strip()}")
    yield directory
    subprocess.run(["umount", "--lazy", str(directory)], check=True)
    directory.rmdir()


async def test_a_full_disk_loses_nothing_that_was_acknowledged(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(BALLAST_MB * 2**20))
    postgres = EmbeddedPostgres(small_disk / "pg", settings=SETTINGS)
    url = postgres.start().url()
    try:
        database = await TestServer(url).create_database(fake_clock=False)
        app = Plait(database.url, settings=Settings(lease=5, heartbeat=1, poll=0.2, grace=2))

        @app.job
        async def measure(text: str) -> int:
            return len(text)

        stop = Stop()
        services = [
            asyncio.create_task(Worker(app, concurrency=10).run(stop)),
            asyncio.create_task(Leader(app, duties=[Promote(), Rescue()]).run(stop)),
        ]
        _, key = await new_key(await app.store(), Role.OPERATOR, await app.tenant_id())
        texts = random.Random(1)
        acknowledged: set[UUID] = set()
        refused = 0
        with serve_api(database.url) as api:
            while refused < 10:
                text = texts.randbytes(100_000).hex()
                try:
                    acknowledged.add((await measure.enqueue(text)).id)
                except (PlaitError, asyncpg.PostgresError):
                    refused += 1
                    answer = await asyncio.to_thread(_post, api, key, text)
                    if answer.status_code == 201:
                        acknowledged.add(UUID(answer.json()["id"]))
                    else:
                        assert answer.status_code == 503, answer.text
        assert len(acknowledged) > 50

        ballast.unlink()
        await eventually(lambda: _answers(postgres, database.url), what="the server's return", within=180)
        admin = await asyncpg.connect(database.admin_url)

        async def all_have_ended() -> bool:
            return not await admin.fetchval("select exists (select from plait.live)")

        await eventually(all_have_ended, what="the end of all jobs", within=180)
        rows = await admin.fetch("select id, status::text from plait.job")
        ended = {UUID(bytes=row["id"].bytes): row["status"] for row in rows}
        assert acknowledged <= ended.keys()
        assert set(ended.values()) == {"succeeded"}
        assert not await violations(admin)
        await admin.close()
        stop.request()
        await asyncio.gather(*services)
        await app.close()
    finally:
        postgres.stop()


def _post(api: str, key: str, text: str) -> httpx.Response:
    body = {"definition_key": "measure", "payload": {"text": text}}
    return httpx.post(f"{api}/api/v1/jobs", json=body, headers={"Authorization": f"Bearer {key}"}, timeout=30)


async def _answers(postgres: EmbeddedPostgres, url: str) -> bool:
    with contextlib.suppress(OSError, asyncpg.PostgresError):
        await asyncio.to_thread(postgres.start)  # where it gave up, somebody starts it again
        connection = await asyncpg.connect(url, timeout=5)
        await connection.close()
        return True
    return False
