"""Commands: programs that a worker's code or configuration file allows, and how a payload becomes their arguments.

The program is never stored in the database: a job names a command and has a payload, and only a worker that allows the command
knows the program and its arguments. There is no shell. A value that could be parsed as an option is rejected, unless it comes after `--` (T124).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from plait.model.errors import InvalidArguments, InvalidDefinition
from plait.model.parameters import Parameter, checked
from plait.model.texts import shown

_TOKEN: Final = re.compile(r"\{\{\s*((?:payload|job|tenant)(?:\.[A-Za-z0-9_-]{1,100}){1,20})\s*\}\}")

Argument = str | Sequence[str] | Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`argv` follows the executable. A nested list is omitted entirely if the payload lacks one of its values. A parameter takes its value from
    the payload or from `fixed`, which payloads cannot change."""

    key: str
    executable: str
    argv: tuple[Argument, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)
    env: tuple[str, ...] = ()
    """Names of the worker's environment variables that the command gets."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""

    def __post_init__(self) -> None:
        if not self.executable.startswith("/") or "\0" in self.executable:
            raise InvalidDefinition(
                f"command {self.key}: executable must be an absolute path, got {shown(self.executable)}"
            )
        for part in self.argv:
            if isinstance(part, Parameter):
                continue
            for text in [part] if isinstance(part, str) else part:
                if "\0" in str(text) or type(text) is not str:
                    raise InvalidDefinition(
                        f"command {self.key}: argv must contain only text and lists of text, got {shown(text)}"
                    )

    def arguments(self, scope: Mapping[str, Any]) -> list[str]:
        """The executable and its arguments for one job. An error names the value that is missing or invalid."""
        found = [self.executable]
        for part in self.argv:
            if isinstance(part, Parameter):
                found += self._words(part, scope)
                continue
            try:
                texts = [
                    _fill(text, scope, plain="--" in found) for text in ([part] if isinstance(part, str) else part)
                ]
            except _Missing as missing:
                if isinstance(part, str):
                    raise InvalidArguments(f"{self.key}: {missing} is missing") from None
                continue
            found += texts
        return found

    def _words(self, part: Parameter, scope: Mapping[str, Any]) -> list[str]:
        values = {name: scope["payload"][name] for name in part.names if name in scope["payload"]}
        for name in part.names:
            if name in self.fixed:
                values[name] = _fixed(self.fixed[name], scope)
        try:
            return part.words(values)
        except InvalidArguments as error:
            raise InvalidArguments(f"{self.key}: {error}") from None


class _Missing(Exception):
    """The payload does not have a value."""


def _fixed(value: Any, scope: Mapping[str, Any]) -> Any:
    match value:
        case str():
            return _TOKEN.sub(lambda token: _value(token[1], scope), value)
        case list() | tuple():
            return [_fixed(item, scope) for item in value]
        case _:
            return value


def _fill(text: str, scope: Mapping[str, Any], *, plain: bool) -> str:
    filled = checked(_TOKEN.sub(lambda token: _value(token[1], scope), text), text)
    if text.startswith("{{") and filled.startswith("-") and not plain:
        raise InvalidArguments(f"{text}: {shown(filled)} would be parsed as an option")
    return filled


def _value(path: str, scope: Mapping[str, Any]) -> str:
    value: Any = scope
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise _Missing(path)
        value = value[part]
    match value:
        case None:
            raise _Missing(path)
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            raise InvalidArguments(f"{path} must be text, a number or a boolean, got {shown(value)}")
