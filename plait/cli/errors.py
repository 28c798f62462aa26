"""Turn an error into one line on stderr and an exit code.

0  success                    3    the database is not reachable, or its schema is outdated
1  an error                   130  stopped by SIGINT
2  invalid usage              143  stopped by SIGTERM
"""

import json
import os
import re
import traceback
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import typer

from plait.model.errors import DatabaseUnreachable, InvalidArguments, InvalidConfiguration, PlaitError, SchemaOutdated

_INSUFFICIENT_PRIVILEGE = "42501"


class ExitCode(IntEnum):
    DONE = 0
    ERROR = 1
    USAGE = 2
    DATABASE = 3
    INTERRUPTED = 130


class BadUsage(PlaitError):
    """The command was used incorrectly. See its --help."""


class BadApp(PlaitError):
    """The application could not be loaded."""


@runtime_checkable
class Misuse(Protocol):
    """The interface of typer's error for an invalid command line."""

    exit_code: int

    def format_message(self) -> str: ...
    def show(self) -> None: ...


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Print the error, and return its exit code."""
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
        case BadUsage() | InvalidArguments() | InvalidConfiguration():
            return ExitCode.USAGE
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case Misuse():
            return error.exit_code
        case _:
            return ExitCode.ERROR


def is_forbidden(error: BaseException) -> bool:
    """Whether the database denied the login permission."""
    return getattr(error, "sqlstate", None) == _INSUFFICIENT_PRIVILEGE


def _first(error: BaseException) -> BaseException:
    """The first error of an exception group, such as one raised by a task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _message(error: Any) -> str:
    if isinstance(error, Misuse):
        return error.format_message()
    if isinstance(error, PlaitError):
        return str(error)
    if is_forbidden(error):
        return f"permission denied: {error}. Operators need the role plait_admin, applications plait_client."
    if isinstance(error, OSError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error} (use --debug to show the traceback)"


def _code(error: BaseException) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
