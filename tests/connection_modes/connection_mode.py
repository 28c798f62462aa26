"""The way on which tests reach their database: PLAIT_TEST_WAY is pgbouncer, polling, or not set.

make test-ways                                  # the worker's and the API's, on both
PLAIT_TEST_WAY=pgbouncer pytest tests/api       # one
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from plait.testing import TestDatabase

WAYS = ("pgbouncer", "polling")
MISSING = "PgBouncer is not on this machine: apt install pgbouncer"


def pgbouncer() -> str | None:
    """Where the program is. Debian keeps it where only root looks."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Way:
    """`port`: of the pooler that leads to the test server; None: straight to it."""

    def __init__(self, *, port: int | None = None) -> None:
        self._port = port

    def to(self, database: TestDatabase) -> TestDatabase:
        if self._port is None:
            return database
        user = urlsplit(database.url).username
        os.environ["PLAIT_DIRECT_URL"] = database.url
        url = f"postgresql://{user}@127.0.0.1:{self._port}/{database.name}?sslmode=disable"
        return TestDatabase(name=database.name, url=url, admin_url=database.admin_url)


@contextlib.contextmanager
def way(admin_url: str) -> Iterator[Way]:
    """The way that the environment names. What is set for it is for this process and those that it starts."""
    named, before = os.environ.get("PLAIT_TEST_WAY"), dict(os.environ)
    try:
        if named == "polling":
            os.environ["PLAIT_LISTEN"] = "false"
        if named != "pgbouncer":
            yield Way()
            return
        os.environ["PLAIT_POOLER"] = "true"  # Debian's is older than 1.21: no prepared names
        with _running(admin_url) as port:
            yield Way(port=port)
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _running(admin_url: str) -> Iterator[int]:
    program = pgbouncer()
    assert program is not None, MISSING
    query = parse_qs(urlsplit(admin_url).query)
    host, server_port = query["host"][0], query.get("port", ["5432"])[0]
    with tempfile.TemporaryDirectory(prefix="pl-", dir="/tmp") as text, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        probe.close()
        directory = Path(text)
        directory.chmod(0o755)
        (directory / "users").write_text('"postgres" ""\n"plait_dev" ""\n')
        (directory / "ini").write_text(
            f"[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = trust\nauth_file = {directory}/users\npool_mode = transaction\n"
            "default_pool_size = 20\nmax_client_conn = 500\nignore_startup_parameters = extra_float_digits\nserver_idle_timeout = 5\n"
        )
        # It refuses to be root, and who may use the server's socket is the one that runs the server.
        owner = pwd.getpwuid(Path(host).stat().st_uid).pw_name
        command = [program, "-q", str(directory / "ini")]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=owner if os.geteuid() == 0 else None
        )
        try:
            deadline = time.monotonic() + 60
            while not _listens(port):
                assert process.poll() is None, "PgBouncer has ended"
                assert time.monotonic() < deadline, "PgBouncer does not listen"
                time.sleep(0.02)  # sleep: another program starts
            yield port
        finally:
            process.terminate()
            process.wait(60)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
