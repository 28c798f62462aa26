"""The commands of a Click or Typer application. Converts their parameters to JSON Schemas, and the values of parameters to command-line arguments.

This module imports no Click classes, because current versions of Typer bundle their own Click and older versions use the real one. It
reads only attributes that all versions have: commands with `params`, groups with `list_commands` and `get_command`. The application is inspected, never run.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from plait.model.commands import Argument, Command
from plait.model.errors import InvalidDefinition, InvalidSchema
from plait.model.parameters import Arguments, Count, Flag, Option, Parameter
from plait.model.schemas import check_schema
from plait.model.texts import shown

MOST_COUNTED: Final = 20
_CLICK_TYPES: Final = {
    "integer": "integer", "integer range": "integer", "float": "number", "float range": "number", "boolean": "boolean",
}  # fmt: skip


def commands_of(
    application: Any,
    executable: str | Path,
    argv: Sequence[str],
    *,
    prefix: str,
    only: Sequence[str] | None,
    fixed: Mapping[str, Any],
    env: Sequence[str],
) -> list[Command]:
    """All commands of the application that are not hidden, or exactly the commands in `only`."""
    if isinstance(argv, str):
        raise InvalidDefinition("argv must be a list of arguments, got a string")
    found = {command.key: command for command in _walk(_root(application), [], ())}
    if unknown := set(only or ()) - found.keys():
        raise InvalidDefinition(f"the application has no command {min(unknown)!r}; it has {', '.join(sorted(found))}")
    chosen = [one for key, one in found.items() if (key in only if only is not None else not one.hidden)]
    if unknown := fixed.keys() - {name for one in chosen for name in one.known}:
        raise InvalidDefinition(f"no command of the application has a parameter {min(unknown)!r}")
    return [one.command(executable, argv, prefix=prefix, fixed=fixed, env=env) for one in chosen]


@dataclass(slots=True)
class _Level:
    """A word of the command line, and the parameters that follow it."""

    word: str | None
    params: list[Any]
    context: Any


@dataclass(slots=True)
class _Found:
    key: str
    hidden: bool
    description: str
    levels: tuple[_Level, ...]
    known: set[str] = field(default_factory=set)

    def command(
        self, executable: str | Path, argv: Sequence[str], *, prefix: str, fixed: Mapping[str, Any], env: Sequence[str]
    ) -> Command:
        properties: dict[str, Any] = {}
        required: list[str] = []
        parts: list[Argument] = [*argv]
        mine = {name: value for name, value in fixed.items() if name in self.known}
        for number, level in enumerate(self.levels):
            inner = {param.name for below in self.levels[number + 1 :] for param in below.params}
            parts += [level.word] if level.word is not None else []
            offered = [param for param in level.params if _is_offered(param, inner, self.key)]
            parts += _parameters(
                [one for one in offered if one.name not in mine or mine[one.name] is not None or _is_placed(one)]
            )
            for param in offered:
                if param.name in mine:
                    continue
                said = _schema(param, level.context)
                if param.name in properties:  # several flags for one value
                    said["enum"] = [*properties[param.name].get("enum", ()), *said.get("enum", ())]
                properties[param.name] = said
                # If a group's argument were omitted, the name of the command would be parsed as that argument.
                if _is_required(param, env) or (_is_placed(param) and level is not self.levels[-1]):
                    required.append(param.name)
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        try:
            check_schema(schema)
        except InvalidSchema as error:
            raise InvalidDefinition(f"command {prefix}{self.key}: {error}") from None
        return Command(
            key=prefix + self.key,
            executable=str(executable),
            argv=tuple(parts),
            schema=schema,
            env=tuple(env),
            fixed={name: value for name, value in mine.items() if value is not None},
            description=self.description,
        )


def _root(application: Any) -> Any:
    if hasattr(application, "registered_commands"):
        from typer.main import get_command

        return get_command(application)
    if not hasattr(application, "params") or not hasattr(application, "context_class"):
        raise InvalidDefinition(f"a command group must be a Click or Typer application, got {shown(application)}")
    return application


def _walk(command: Any, path: list[str], outer: tuple[_Level, ...], parent: Any = None) -> Iterator[_Found]:
    name = path[-1] if path else command.name
    context = command.context_class(command, info_name=name, parent=parent)
    levels = (*outer, _Level(path[-1] if path else None, list(command.params), context))
    is_group = hasattr(command, "list_commands")
    if not is_group or command.invoke_without_command:
        if not name:
            raise InvalidDefinition("the application's only command has no name: set one with @click.command('name')")
        known = {param.name for level in levels for param in level.params}
        description = command.get_short_help_str(limit=200)
        yield _Found(".".join(path) or name, bool(command.hidden), description, levels, known)
    for word in command.list_commands(context) if is_group else ():
        below = command.get_command(context, word)
        if below is not None:
            for found in _walk(below, [*path, word], levels, context):
                found.hidden |= bool(command.hidden and path)
                yield found


def _is_offered(param: Any, inner: set[str], key: str) -> bool:
    """Whether a payload can set this parameter. False for options such as `--version`, which only exit the program, and for parameters
    that a nested command also has."""
    wanted = (param.expose_value and not getattr(param, "hidden", False)) or param.required or _is_placed(param)
    if wanted and param.name in inner:
        if param.required or _is_placed(param):
            raise InvalidDefinition(f"command {key}: {param.name!r} is a parameter of the command and of its group")
        return False
    return wanted and _flag_value(param) is not _UNSAID


def _is_placed(param: Any) -> bool:
    """Whether the parameter is positional. A positional argument that precedes others cannot be omitted."""
    return bool(param.param_type_name == "argument")


def _is_required(param: Any, env: Sequence[str]) -> bool:
    named = getattr(param, "envvar", None)
    if {named} & set(env) if isinstance(named, str) else set(named or ()) & set(env):
        return False  # read from the worker's environment
    asks = getattr(param, "prompt", None) is not None and getattr(param, "prompt_required", True)
    return bool(param.required or (asks and _plain(param.default) is None))  # a prompt would get no answer


def _parameters(params: Sequence[Any]) -> list[Parameter]:
    """The command-line form of the parameters of one level: options first, then arguments."""
    options: dict[str, Parameter] = {}
    places: list[tuple[str, int]] = []
    for param in params:
        if _is_placed(param):
            places.append((param.name, param.nargs))
            continue
        word = next((opt for opt in param.opts if opt.startswith("--")), param.opts[0] if param.opts else "")
        if getattr(param, "count", False):
            options[param.name] = Count(param.name, word)
        elif getattr(param, "is_flag", False):
            before = options.get(param.name)
            options[param.name] = Flag(
                param.name, (before.written if isinstance(before, Flag) else ()) + _written(param, word)
            )
        else:
            options[param.name] = Option(param.name, word, param.nargs, bool(param.multiple))
    return [*options.values(), *([Arguments(tuple(places))] if places else [])]


def _written(param: Any, word: str) -> tuple[tuple[Any, str], ...]:
    value = _flag_value(param)
    if not isinstance(value, bool):
        return ((value, word),)
    if param.secondary_opts:
        off = next((opt for opt in param.secondary_opts if opt.startswith("--")), param.secondary_opts[0])
        return ((True, word), (False, off)) if word else ((False, off),)
    return ((value, word), (not value, ""))


_UNSAID: Final = object()


def _flag_value(param: Any) -> Any:
    """The value of a flag; `_UNSAID` if it has no JSON form."""
    if not getattr(param, "is_flag", False) or getattr(param, "count", False):
        return None
    value = getattr(param, "flag_value", True)
    if getattr(param, "is_bool_flag", False) or isinstance(value, bool):
        return value if isinstance(value, bool) and not param.secondary_opts else True
    return value if isinstance(value, str | int | float) and not isinstance(value, Enum) else _UNSAID


def _schema(param: Any, context: Any) -> dict[str, Any]:
    default = _plain(param.get_default(context, call=False))
    flag = _flag_value(param)
    said: dict[str, Any]
    if getattr(param, "count", False):
        said = {"type": "integer", "minimum": 0, "maximum": MOST_COUNTED}
    elif isinstance(flag, bool):
        said = {"type": "boolean"}
        if default is flag and not param.secondary_opts:
            said = {"const": flag}  # the flag cannot be negated
    elif flag is not None:
        said = {"enum": [flag]}
    else:
        items = _items(param)
        said = items[0]
        if param.nargs > 1:
            said = {"type": "array", "prefixItems": items, "minItems": param.nargs, "maxItems": param.nargs}
        if param.nargs == -1 or getattr(param, "multiple", False):
            said = {"type": "array", "items": said} | ({"minItems": 1} if param.required else {})
    if getattr(param, "help", None):
        said["description"] = str(param.help)[:1000]
    if default is not None and default in said.get("enum", [default]):
        said["default"] = default
    return said


def _items(param: Any) -> list[dict[str, Any]]:
    """The schema of each of the `nargs` values."""
    described = getattr(param, "type_descriptor", None)
    if described is not None:  # a version of Typer that describes types by annotations
        annotation = described.annotation
        many = get_origin(annotation) in (list, tuple)
        kinds = get_args(annotation) if many else (annotation,)
        bounds = {"minimum": getattr(param, "min", None), "maximum": getattr(param, "max", None)}
        found = [_of_annotation(kind, bounds) for kind in kinds if kind is not Ellipsis]
    else:
        found = [_of_click(kind) for kind in getattr(param.type, "types", [param.type])]
    return found if len(found) == max(param.nargs, 1) else found[:1] * max(param.nargs, 1)


def _of_annotation(kind: Any, bounds: Mapping[str, Any]) -> dict[str, Any]:
    if get_origin(kind) is Literal:
        return {"enum": [str(value) for value in get_args(kind)]}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [str(member.value) for member in kind]}
    if kind is bool:
        return {"type": "boolean"}
    if kind is UUID:
        return {"type": "string", "format": "uuid"}
    if kind is int or kind is float:
        bounded = {name: value for name, value in bounds.items() if value is not None}
        return {"type": "integer" if kind is int else "number", **bounded}
    return {"type": "string"}


def _of_click(kind: Any) -> dict[str, Any]:
    name = getattr(kind, "name", "text")
    if hasattr(kind, "choices"):
        return {"enum": [one.name if isinstance(one, Enum) else str(one) for one in kind.choices]}
    if name == "uuid":
        return {"type": "string", "format": "uuid"}
    if name not in _CLICK_TYPES:
        return {"type": "string"}
    said: dict[str, Any] = {"type": _CLICK_TYPES[name]}
    if name.endswith("range") and not getattr(kind, "clamp", False):
        if kind.min is not None:
            said["exclusiveMinimum" if kind.min_open else "minimum"] = kind.min
        if kind.max is not None:
            said["exclusiveMaximum" if kind.max_open else "maximum"] = kind.max
    return said


def _plain(value: Any) -> Any:
    """A default as a JSON value; None if it does not exist, has no JSON form, or is computed at call time."""
    match value:
        case Enum():
            return str(value.value) if isinstance(value.value, str) else None
        case bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Path() | UUID():
            return str(value)
        case list() | tuple():
            items = [_plain(item) for item in value]
            return items if items and None not in items else None
        case _:
            return None
