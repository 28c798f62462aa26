import asyncio
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plait.testing import TestDatabase, TestServer

from .cli_runner import CliResult, call

RunPlait = Callable[..., CliResult]
WriteApp = Callable[..., Path]

SHOP = """
import asyncio, os
from plait import Backoff, PermanentError, Plait, Skip

app = Plait()

@app.job
async def greet(name: str, times: int = 1) -> str:
    return " ".join([f"Hello, {name}!"] * times)

@app.job(retries=1, backoff=Backoff(base=0.05))
async def fail(why: str) -> None:
    raise ValueError(why)

@app.job
async def skip() -> None:
    raise Skip("there is nothing to do")

@app.job(queue="slow")
async def sleep(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds

@app.job
async def block(seconds: float) -> None:
    import time
    time.sleep(seconds)

@app.job
async def stop_loop() -> None:
    asyncio.get_running_loop().stop()

@app.job(queue="slow")
async def wait_for_file(path: str) -> None:
    while not os.path.exists(path):
        await asyncio.sleep(0.01)

@app.job(isolation="process")
def pid() -> int:
    return os.getpid()
"""


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the developer's settings, and restore sys.path after the test: loading an app changes it."""
    for name in ("PLAIT_DATABASE_URL", "PLAIT_DATA_DIR", "PLAIT_DEBUG", "PLAIT_LOG_LEVEL", "PLAIT_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])


@pytest.fixture
def write_app(tmp_path: Path) -> WriteApp:
    """Write the file of an app."""

    def write(text: str = SHOP, name: str = "shop.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def shop(write_app: WriteApp) -> Path:
    return write_app()


@pytest.fixture
def plait_on(database: TestDatabase) -> RunPlait:
    """Call plait on this test's database."""
    return lambda *arguments: call("--url", database.url, *arguments)


@pytest.fixture
def real_clock_database(server: TestServer) -> Iterator[TestDatabase]:
    """A database with the real clock."""
    database = asyncio.run(server.create_database(fake_clock=False))
    yield database
    asyncio.run(server.drop_database(database))


@pytest.fixture
def empty_database(server: TestServer) -> Iterator[TestDatabase]:
    """A database without plait."""
    database = asyncio.run(server.create_empty_database())
    yield database
    asyncio.run(server.drop_database(database))


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory with a short path that any user may traverse."""
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    from plait.embedded.postgres import EmbeddedPostgres

    server = EmbeddedPostgres(directory)
    server.start()
    server.stop()  # returns when it has stopped
    shutil.rmtree(directory)
