"""`plait top`: refreshes on a terminal, prints once elsewhere, and runs one query per refresh."""

import asyncio
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import Any

import asyncpg
import pytest

from plait.testing import TestDatabase

from .cli_runner import PLAIT, call, clean_environment
from .conftest import RunPlait


def fill(plait_on: RunPlait) -> None:
    for queue, n in (("default", 1), ("slow", 3), ("a-queue-with-a-name-that-is-far-too-long-for-its-column", 2)):
        for _ in range(n):
            plait_on("enqueue", "tidy", "--queue", queue)


def test_without_a_terminal_it_tells_once(plait_on: RunPlait) -> None:
    assert "no unfinished jobs" in plait_on("top").out
    fill(plait_on)
    ran = plait_on("top")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "jobs     queued 6  running 0  scheduled 0  waiting 0"
    assert "leader  NONE" in ran.out
    assert [line.split()[0] for line in lines[5:]] == ["slow", "a-queue-with-a-name-that-is…", "default"]
    assert all(len(line) <= 80 for line in lines)
    by_name = plait_on("top", "--sort", "name").out.splitlines()[5:]
    assert [line.split()[0] for line in by_name] == ["a-queue-with-a-name-that-is…", "default", "slow"]


def test_json_has_the_numbers(plait_on: RunPlait) -> None:
    fill(plait_on)
    told: dict[str, Any] = plait_on("top", "--json", "--by", "tenant").json
    assert told["rows"] == [{"tenant": "default", "queued": 6, "running": 0, "scheduled": 0, "waiting": 0}]
    assert told["leader"]["present"] is False
    first = plait_on("top", "--json").json["rows"][0]
    assert (first["queue"], first["queued"]) == ("slow", 3)
    assert first["oldest_s"] >= 0


@pytest.mark.parametrize("every", ["0s", "10ms", "soon"])
def test_it_does_not_look_all_the_time(plait_on: RunPlait, every: str) -> None:
    assert plait_on("top", "--every", every).code == 2


class Terminal:
    """`plait top` on a terminal of 80 columns."""

    def __init__(self, *arguments: str) -> None:
        self.master, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = clean_environment() | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        self.process = subprocess.Popen(
            [PLAIT, "top", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def until(self, word: str) -> str:
        """The output from now on, up to this word."""
        deadline, self.seen = time.monotonic() + 60, ""
        while word not in self.seen:
            assert time.monotonic() < deadline, f"no {word!r} in {self.seen!r}"
            ready, _, _ = select.select([self.master], [], [], 1)
            if ready:
                self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.master, 65536).decode(errors="replace"))
        return self.seen

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


def test_on_a_terminal_it_goes_on_until_it_is_told_to_end(plait_on: RunPlait, database: TestDatabase) -> None:
    fill(plait_on)
    terminal = Terminal("--url", database.url, "--every", "200ms")
    try:
        shown = terminal.until("sorted by queued")
        assert all(len(line) <= 80 for line in re.split(r"[\r\n]+", shown)), shown
        terminal.press("s")
        terminal.until("sorted by running")
        terminal.press("b")
        terminal.until("by tenant (b)")
        plait_on("enqueue", "tidy", "--queue", "another")
        terminal.until("queued 7")
        terminal.press("q")
        assert terminal.process.wait(120) == 0
    finally:
        terminal.close()


def test_a_look_is_one_query(database: TestDatabase) -> None:
    from plait.store.metrics import Metrics

    asked: list[str] = []

    class Counting:
        async def fetch(self, sql: str, *args: Any) -> list[Any]:
            asked.append(sql)
            connection = await asyncpg.connect(database.url)
            try:
                return list(await connection.fetch(sql, *args))
            finally:
                await connection.close()

    asyncio.run(Metrics(Counting()).read())  # type: ignore[arg-type]
    assert len(asked) == 1
    assert call("top", "--url", database.url, "--once").code == 0
