"""How tests connect to their database. PLAIT_TEST_CONNECTION is pgbouncer, polling, or not set: a direct connection with notifications.

make test-connections                                 # the worker's and the API's tests, in both modes
PLAIT_TEST_CONNECTION=pgbouncer pytest tests/api      # one
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

MODES = ("pgbouncer", "polling")
MISSING = "PgBouncer is not on this machine: apt install pgbouncer"


def pgbouncer() -> str | None:
    """The path of the program. Debian installs it in /usr/sbin, which is not in every user's PATH."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class ConnectionMode:
    """`port` is the pooler's. None: connect to the test server directly."""

    def __init__(self, *, port: int | None = None) -> None:
        self._port = port

    def apply(self, database: TestDatabase) -> TestDatabase:
        """The same database, with the URL of the pooler."""
        if self._port is None:
            return database
        user = urlsplit(database.url).username
        os.environ["PLAIT_DIRECT_URL"] = database.url
        url = f"postgresql://{user}@127.0.0.1:{self._port}/{database.name}?sslmode=disable"
        return TestDatabase(name=database.name, url=url, admin_url=database.admin_url)


@contextlib.contextmanager
def selected_mode(admin_url: str) -> Iterator[ConnectionMode]:
    """The mode that PLAIT_TEST_CONNECTION names. Its settings apply to this process and the processes that it starts."""
    named, before = os.environ.get("PLAIT_TEST_CONNECTION"), dict(os.environ)
    try:
        if named == "polling":
            os.environ["PLAIT_LISTEN"] = "false"
        if named != "pgbouncer":
            yield ConnectionMode()
            return
        os.environ["PLAIT_POOLER"] = "true"  # Debian's is older than 1.21: no prepared names
        with running_pgbouncer(admin_url) as port:
            yield ConnectionMode(port=port)
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def running_pgbouncer(admin_url: str) -> Iterator[int]:
    """PgBouncer in transaction mode in front of the test server; yields its port."""
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
        # PgBouncer does not run as root, and only the server's own user may use its socket.
        owner = pwd.getpwuid(Path(host).stat().st_uid).pw_name
        command = [program, "-q", str(directory / "ini")]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=owner if os.geteuid() == 0 else None
        )
        try:
            deadline = time.monotonic() + 60
            while not _listens(port):
                assert process.poll() is None, "PgBouncer has exited"
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
