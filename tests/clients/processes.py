"""Worker processes of both clients, which a test may kill; and the path of Node."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import pytest

from ..project.source_files import ROOT

TYPESCRIPT = ROOT / "clients/typescript"
Language = Literal["node", "python"]


def node() -> str:
    """Node, the machine's or the environment's; the TypeScript client must be compiled (scripts/clients, which `make test` calls)."""
    own = ROOT / ".venv/node/node"
    found = str(own) if own.exists() else shutil.which("node")
    if found is None or not (TYPESCRIPT / "build/test/work.js").exists():
        pytest.skip("the TypeScript client is not compiled: run scripts/clients")
    return found


def environment(url: str, key: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLAIT_", "PYTEST"))}
    return {**kept, "PLAIT_URL": url, "PLAIT_KEY": key, "PYTHONPATH": str(ROOT / "clients/python"), **more}


class WorkerProcess:
    """A worker in a process. Its output is kept: `began` for each job, and its logs."""

    def __init__(self, language: Language, environment: Mapping[str, str]) -> None:
        command = (
            [node(), str(TYPESCRIPT / "build/test/work.js")]
            if language == "node"
            else [sys.executable, str(Path(__file__).with_name("work.py"))]
        )
        self.language = language
        self.process = subprocess.Popen(
            command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.began: list[str] = []
        self.logs: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.began)),
            threading.Thread(target=self._read, args=(self.process.stderr, self.logs)),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str] | None, lines: list[str]) -> None:
        assert stream is not None
        with stream:
            lines.extend(line.strip() for line in stream)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(180)
        for reader in self._readers:
            reader.join()
        return code


@contextmanager
def worker(language: Language, url: str, key: str, **settings: str) -> Iterator[WorkerProcess]:
    started = WorkerProcess(language, environment(url, key, **settings))
    try:
        yield started
    finally:
        started.kill()
