"""The one place that turns an error into a line on stderr and an exit code.

0  done                       3    the database is out of reach, or its schema is old
1  an error                   130  stopped by SIGINT
2  the command was misused    143  stopped by SIGTERM
"""

import json
import os
import re
import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import typer

from plait.model.errors import DatabaseUnreachable, InvalidArguments, PlaitError, SchemaOutdated

_INSUFFICIENT_PRIVILEGE = "42501"


class ExitCode(IntEnum):
    DONE = 0
    ERROR = 1
    USAGE = 2
    DATABASE = 3
    INTERRUPTED = 130


class BadUsage(PlaitError):
    """The command was misused."""


class BadApp(PlaitError):
    """The application cannot be loaded."""


@runtime_checkable
class Misuse(Protocol):
    """What typer raises for a command line that it cannot read."""

    exit_code: int

    def format_message(self) -> str: ...
    def show(self) -> None: ...


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell the error to who called; the exit code that it stands for."""
    error = _first(error)
    code = exit_code(error)
    if isinstance(error, KeyboardInterrupt):
        return code
    if "--debug" in arguments or os.environ.get("PLAIT_DEBUG"):
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if "--json" in arguments:
        told = {"error": {"code": _code(error), "message": _message(error), "exit_code": code}}
        typer.echo(json.dumps(told, ensure_ascii=False), err=True)
    elif isinstance(error, Misuse):
        error.show()
    else:
        typer.echo(f"plait: {_message(error)}", err=True)
    return code


def exit_code(error: BaseException) -> int:
    match error:
        case DatabaseUnreachable() | SchemaOutdated():
            return ExitCode.DATABASE
        case BadUsage() | InvalidArguments():
            return ExitCode.USAGE
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case Misuse():
            return error.exit_code
        case _:
            return ExitCode.ERROR


def is_forbidden(error: BaseException) -> bool:
    """Whether the database says that this login may not do that."""
    return getattr(error, "sqlstate", None) == _INSUFFICIENT_PRIVILEGE


def _first(error: BaseException) -> BaseException:
    """What began it: a group of tasks ends with a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _message(error: Any) -> str:
    if isinstance(error, Misuse):
        return error.format_message()
    if isinstance(error, PlaitError):
        return str(error)
    if is_forbidden(error):
        return f"this login may not do that: {error}. Operators need the role plait_admin, applications plait_client."
    if isinstance(error, OSError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error} (--debug shows where)"


def _code(error: BaseException) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
