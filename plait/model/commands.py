"""Commands: programs that a worker's own code or file allows, and how a payload becomes their arguments.

What runs is never in the database: a job names a command and gives it a payload, and the worker that has the command on its list
knows the rest. No shell. A value that would be taken for an option is refused, unless it stands after `--` (T124).
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
    """`argv` follows the executable. A list within it is left out as a whole where a value of it is not given; a parameter writes
    itself, from the payload or from what is `fixed`, which no payload decides."""

    key: str
    executable: str
    argv: tuple[Argument, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)
    env: tuple[str, ...] = ()
    """Variables of the worker's own that it may see."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""

    def __post_init__(self) -> None:
        if not self.executable.startswith("/") or "\0" in self.executable:
            raise InvalidDefinition(
                f"command {self.key}: an executable is an absolute path, not {shown(self.executable)}"
            )
        for part in self.argv:
            if isinstance(part, Parameter):
                continue
            for text in [part] if isinstance(part, str) else part:
                if "\0" in str(text) or type(text) is not str:
                    raise InvalidDefinition(f"command {self.key}: argv is text, and lists of text, not {shown(text)}")

    def arguments(self, scope: Mapping[str, Any]) -> list[str]:
        """The whole argv for one job; an error that says which value has no place in it."""
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
                    raise InvalidArguments(f"{self.key}: {missing} is not given") from None
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
    """A value that the payload does not have."""


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
        raise InvalidArguments(f"{text}: {shown(filled)} would be taken for an option")
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
            raise InvalidArguments(f"{path} is text, a number or a truth value, not {shown(value)}")
