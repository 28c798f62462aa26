"""The running server of a cluster, as described by its postmaster.pid and the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A running server, as described by its postmaster.pid."""

    pid: int
    socket_dir: str
    port: int
    ready: bool


def find_server(data: Path, *, port: int) -> Found | None:
    """The running server of this cluster, if the process in postmaster.pid is a Postgres server."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        lines += [""] * (8 - len(lines))  # the server writes it line by line while it starts
        pid, port = int(lines[0]), int(lines[3] or port)
    except (OSError, ValueError):
        return None
    ready = lines[7].strip() == "ready" and bool(lines[4])
    return Found(pid, lines[4], port, ready) if is_server_of(data, pid) else None


def is_server_of(data: Path, pid: int) -> bool:
    """Whether the process is a Postgres server whose working directory is this data directory."""
    process = Path("/proc") / str(pid)
    if Path("/proc/self/exe").exists():
        try:
            program = (process / "exe").readlink().name.removesuffix(" (deleted)")
            return program == "postgres" and (process / "cwd").samefile(data)
        except OSError:
            # The process has ended, or belongs to a user whose files cannot be read, which is not the cluster's user.
            return False
    ask = ["/bin/ps", "-p", str(pid), "-o", "comm="]
    listed = subprocess.run(ask, capture_output=True, text=True, check=False)  # noqa: S603 - all ours
    return Path(listed.stdout.strip()).name == "postgres"
