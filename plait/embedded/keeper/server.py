"""The server that runs on a cluster, as its postmaster.pid and the kernel tell."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A living server, as its postmaster.pid tells."""

    pid: int
    socket_dir: str
    port: int
    ready: bool


def find_server(data: Path, *, port: int) -> Found | None:
    """The living server on this cluster, if the process that postmaster.pid names is one."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
        lines += [""] * (8 - len(lines))  # it is written line by line while the server starts
        pid, port = int(lines[0]), int(lines[3] or port)
    except (OSError, ValueError):
        return None
    ready = lines[7].strip() == "ready" and bool(lines[4])
    return Found(pid, lines[4], port, ready) if is_server_of(data, pid) else None


def is_server_of(data: Path, pid: int) -> bool:
    """Whether the process is a Postgres that works in this directory, which is where its server lives."""
    process = Path("/proc") / str(pid)
    if Path("/proc/self/exe").exists():
        try:
            program = (process / "exe").readlink().name.removesuffix(" (deleted)")
            return program == "postgres" and (process / "cwd").samefile(data)
        except OSError:
            # Gone, or of a user whose files we may not see; the cluster's user is one whose we may.
            return False
    ask = ["/bin/ps", "-p", str(pid), "-o", "comm="]
    listed = subprocess.run(ask, capture_output=True, text=True, check=False)  # noqa: S603 - all ours
    return Path(listed.stdout.strip()).name == "postgres"
