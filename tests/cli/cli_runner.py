"""Run `plait` commands, in this process or in a new one."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait.cli import invoke

PLAIT = Path(sys.executable).with_name("plait")


@dataclass(frozen=True, slots=True, kw_only=True)
class CliResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output parsed as JSON, without log lines: a leftover thread of another test may log while the output is captured."""
        lines = self.out.splitlines()
        return json.loads("\n".join(line for line in lines if not re.match(r"\d{4}-\d\d-\d\d \d\d:", line)))


def call(*arguments: object) -> CliResult:
    """Run one command line in this process. Don't use it for services: uvloop swallows pytest's timeout, so a test could hang."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = invoke([str(argument) for argument in arguments])
    return CliResult(code=code, out=out.getvalue(), err=err.getvalue())


def run(*arguments: object, **environment: str) -> CliResult:
    """Run one command line in a new process until it exits."""
    ended = subprocess.run(
        [PLAIT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment() | environment,
        stdin=subprocess.DEVNULL,
    )
    return CliResult(code=ended.returncode, out=ended.stdout, err=ended.stderr)


@contextlib.contextmanager
def started(*arguments: object, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a command that keeps running. It is killed at the end of the block."""
    process = subprocess.Popen(
        [PLAIT, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment() | environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # so that only this process receives a signal
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def wait_for_line(process: "subprocess.Popen[str]", word: str) -> str:
    """Read lines until one contains the word. pytest's timeout limits the wait."""
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if word in line:
            return line
    raise AssertionError(f"it ended without printing {word!r}: {''.join(read)}")


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PLAIT_")}
