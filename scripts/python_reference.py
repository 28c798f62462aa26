"""Generate the page docs/reference/python.md from the signatures and docstrings of all names that `plait` exports.

A test runs the examples, and checks that each name is in one section and each parameter has a description.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any

from python_examples import EXAMPLES
from python_parameters import FIELDS, PARAMETERS
from sql_reference import cell, sentence

import plait
from plait.model.errors import Outcome
from plait.model.states import Status
from plait.sdk import exports
from plait.sdk.context import Stream
from plait.sdk.definition import JobOptions
from plait.sdk.node_jobs import NodeOptions
from plait.sdk.options import OptionsDict
from plait.sdk.triggers import TriggerOptions
from plait.store.job_rows import JobRow, NodeRow, TreeCanceled

SECTIONS = {
    "Application": ("Plait",),
    "Enqueue": ("Job",),
    "Handle": ("Handle", "Status"),
    "In a handler": ("current", "Current", "Stream"),
    "Outcomes that a handler raises": ("PermanentError", "RetryLater", "Snooze", "Skip"),
    "Durable functions": (
        "call", "transaction", "sleep", "sleep_until", "wait_for_signal", "wait_for_event", "wait_for_update", "Update",
        "signal", "first", "First", "version", "continue_as_new", "approval_url",
    ),
    "Fan-out and fan-in": (
        "fan_out", "fan_out_stream", "sub", "Sub", "Result", "values", "partition", "all_succeeded", "fail_fast",
        "collect_all", "threshold", "quorum", "Strategy",
    ),
    "Child jobs and follow-ups": (
        "spawn", "spawn_many", "spawn_sibling", "nursery", "Nursery", "after", "Spawned", "has_pending_children",
        "has_failed_siblings", "dependencies",
    ),
    "Node jobs": ("Nodes", "NodeResult"),
    "Policies": ("Backoff", "Rate"),
}  # fmt: skip
OPTIONS = {
    "Plait.job": ("Job options", JobOptions),
    "Plait.schedule": ("Trigger options", TriggerOptions),
    "Plait.node_job": ("Node job options", NodeOptions),
    "Job.options": ("Enqueue options", OptionsDict),
}
INTERNAL = {
    "Plait": {"holder", "named_tenant", "store", "enqueuer", "waiter", "artifacts", "tenant_id"},
    "Job": {"given", "new_job", "handle_of", "definition"},
    "Current": {"about", "report", "open_stream", "last_report", "stopping"},
    "Backoff": {"pause_s"},
    "Strategy": {"early", "needed"},
}
"""Methods of public classes that plait's own packages use."""
ROWS = {"Handle.info": (JobRow,), "Handle.tree": (NodeRow,), "Handle.cancel_tree": (TreeCanceled,)}
"""Rows of the database that methods return."""
MADE_BY_USERS = {"Plait", "Backoff", "Rate", "RetryLater", "Snooze"}
"""Classes that users create instances of."""
_TYPES = (
    (r"<class '([^']*)'>", r"\1"),
    (r"\b(?:plait(?:\.[a-z_]+)+|collections\.abc|typing|uuid|datetime|pathlib|fractions)\.", ""),
    (r"[*~](?=[A-Z])", ""),
    (r"float \| str \| timedelta", "Duration"),
    (r"Target \| str", "Job | str"),
    (r"\b(?:ChildMode|OnChildFailure|OnTimeout|OnNodeFailure)\b", "str"),
    (r"Optional\[([^\]]*)\]", r"\1 | None"),
    (r"Union\[int, (Literal\[[^\]]*\])(, NoneType)?\]", r"int | \1"),
)


def page(note: str) -> str:
    lines = [
        "# Python API",
        note,
        "`from plait import …` exports these names. Everything else may change without notice. Names ending in `_sync` are for code without an event "
        'loop. A *Duration* is a number of seconds, text such as `"90s"`, `"10m"` or `"1h30m"`, or a `timedelta`.',
        "",
        "| subject | names |",
        "|---|---|",
        *(
            f"| {title} | {' · '.join(f'[{name}](#{_anchor(name)})' for name in names)} |"
            for title, names in SECTIONS.items()
        ),
        "| Errors | [list](#errors) |",
        "",
    ]
    for title, names in SECTIONS.items():
        lines += [f"## {title}", ""]
        if title in EXAMPLES:
            lines += ["```python", EXAMPLES[title].strip("\n"), "```", ""]
        for name in names:
            lines += [*_entry(name), ""]
    lines += [*_errors(), ""]
    return "\n".join(lines)


def listed() -> set[str]:
    """The exported names that the page explains."""
    named = {name for names in SECTIONS.values() for name in names} - {"Stream"}
    return named | {f"{name}_sync" for name in named if f"{name}_sync" in exported()} | set(_error_names())


def exported() -> set[str]:
    return {name for name in vars(exports) if name[0].isalpha()}


def undescribed() -> list[str]:
    """List functions without a docstring, parameters without a description, and descriptions of parameters that do not exist."""
    missing, used = [], set()
    for name, function, _ in _functions():
        if not _doc(name, function):
            missing.append(name)
        for parameter in _parameters(function):
            key = _meaning_key(name, parameter.name)
            used.add(key)
            missing += [] if key in PARAMETERS else [f"{name}.{parameter.name}"]
    return missing + sorted(set(PARAMETERS) - used)


def _functions() -> Iterator[tuple[str, Any, Any]]:
    """Each function and method of the page, with its name and its class."""
    for name in (name for names in SECTIONS.values() for name in names):
        one = _object(name)
        if not inspect.isclass(one):
            yield name, one, None
            continue
        if name in MADE_BY_USERS:
            yield name, one.__init__, one
        for member, value in _members(name, one):
            if not isinstance(value, property) and not _is_sync_form(one, member):
                yield f"{name}.{member}", value, one


def _object(name: str) -> Any:
    return Stream if name == "Stream" else getattr(plait, name)


def _members(name: str, one: Any) -> Iterator[tuple[str, Any]]:
    seen = set()
    for cls in reversed([cls for cls in one.__mro__ if cls.__module__.startswith("plait.")]):
        for member, value in vars(cls).items():
            if member.startswith("_") or member in seen or member in INTERNAL.get(name, ()):
                continue
            if inspect.isfunction(value) or isinstance(value, property):
                seen.add(member)
                yield member, value


def _is_sync_form(one: Any, member: str) -> bool:
    return member.endswith("_sync") and hasattr(one, member.removesuffix("_sync"))


def _title(name: str) -> str:
    """The heading for a name. A class and a function may have names that differ only in case, so classes are marked."""
    return f"class {name}" if inspect.isclass(_object(name)) else name


def _anchor(name: str) -> str:
    return _title(name).lower().replace(" ", "-")


def _entry(name: str) -> Iterator[str]:
    one = _object(name)
    if not inspect.isclass(one):
        yield from _function(f"### {name}", name, one, sync=getattr(plait, f"{name}_sync", None))
        return
    yield f"### {_title(name)}"
    # The enumeration has no docstring, because it would become part of the OpenAPI document.
    yield "The status of a job." if one is Status else _text(inspect.getdoc(one) or "")
    if issubclass(one, Enum):
        yield ""
        yield "Values: " + ", ".join(f"`{value.name}` (`{value}`)" for value in one) + "."
    if name in MADE_BY_USERS:
        yield ""
        yield from _signature(name, one.__init__)
        if name == "Plait":
            yield "\nUse one app per process. `async with app:` connects and closes it. Otherwise call `close()`, and `close_sync()` if you used sync functions."
    elif issubclass(one, Outcome):
        yield from ("", f"`{name}(message)`")
    elif fields := list(_fields(one, INTERNAL.get(name, set()))):
        yield ""
        yield "| attribute | type | description |"
        yield "|---|---|---|"
        yield from fields
    for member, value in _members(name, one):
        if isinstance(value, property) or _is_sync_form(one, member):
            continue
        sync = getattr(one, f"{member}_sync", None)
        yield ""
        yield from _function(f"#### {name}.{member}", f"{name}.{member}", value, sync=sync)


def _function(heading: str, name: str, function: Any, *, sync: Any) -> Iterator[str]:
    yield heading
    yield _doc(name, function)
    if sync is not None:
        yield f"\nSync form: {_sync_form(name, function, sync)}."
    for row in ROWS.get(name, ()):
        yield f"\nFields of a `{row.__name__}`: {', '.join(f'`{field}`' for field in row.__annotations__)}."
    if name in EXAMPLES:
        yield from ("", "```python", EXAMPLES[name].strip("\n"), "```")
    yield ""
    yield from _signature(name, function)
    if name in OPTIONS:
        title, options = OPTIONS[name]
        yield from (
            "",
            f"##### {title}",
            f"{_text(inspect.getdoc(options) or '')}\n",
            "| option | type | description |",
            "|---|---|---|",
        )
        yield from _fields(options, set())


def _sync_form(of: str, function: Any, sync: Any) -> str:
    name = getattr(sync, "__name__", "")
    if name == "sync":  # made from the async function
        return f"`{of}_sync`, with the same parameters, for `def` handlers"
    own, other = _plain(inspect.signature(sync)), _plain(inspect.signature(function))
    said = _text(inspect.getdoc(sync) or "")
    about = "" if not said or said.startswith("Like ") else f". {said.rstrip('.')}"
    return (f"`{name}`, with the same parameters" if str(own) == str(other) else f"`{name}{own}`") + about


def _signature(name: str, function: Any) -> Iterator[str]:
    returned = inspect.signature(function).return_annotation
    returns = "" if returned in (inspect.Signature.empty, None) else f" -> {_type(returned)}"
    prefix = "await " if inspect.iscoroutinefunction(function) else ""
    yield f"`{prefix}{name.rpartition('.')[2]}{_plain(inspect.signature(function))}{returns}`"
    parameters = _parameters(function)
    if parameters:
        yield from ("", "| parameter | type | default | description |", "|---|---|---|---|")
    for one in parameters:
        meaning = PARAMETERS.get(_meaning_key(name, one.name), "")
        default = "required" if one.default is one.empty else f"`{_default(one.default)}`"
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        yield f"| `{star}{one.name}` | {cell(_type(one.annotation))} | {'' if star else default} | {cell(sentence(meaning))} |"


def _plain(signature: inspect.Signature) -> inspect.Signature:
    """The signature without annotations, and with short defaults."""
    parameters = [
        one.replace(
            annotation=one.empty, default=one.default if one.default is one.empty else _Shown(_default(one.default))
        )
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    return inspect.Signature(parameters)


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _default(value: Any) -> str:
    if value is Any:
        return "Any"
    return "…" if type(value) is object else repr(value).replace("'", '"')


def _parameters(function: Any) -> list[inspect.Parameter]:
    return [
        one
        for one in inspect.signature(function).parameters.values()
        if one.name != "self"
        and not (one.kind is one.POSITIONAL_ONLY and one.name == "function" and one.default is None)
    ]


def _meaning_key(function: str, parameter: str) -> str:
    base = function.removesuffix("_sync")
    return f"{base}.{parameter}" if f"{base}.{parameter}" in PARAMETERS else parameter


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for pattern, replacement in _TYPES:
        text = re.sub(pattern, replacement, text)
    return text.replace("P.args", "").replace("P.kwargs", "")


def _doc(name: str, function: Any) -> str:
    """A function's docstring. For a name that is assigned, the text below the assignment comes first."""
    above = _assigned_doc(name, getattr(function, "__module__", ""))
    said = _text(inspect.getdoc(function) or "")
    return f"{above}\n{said}" if above else said


def _assigned_doc(name: str, module: str) -> str:
    if "." in name or module not in sys.modules:
        return ""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign) and [getattr(target, "id", "") for target in statement.targets] == [name]:
            return _text(_string(following) or "")
    return ""


def _fields(one: Any, hidden: set[str]) -> Iterator[str]:
    """The annotated attributes of a class and its bases, each with the docstring below it, then its properties."""
    for cls in reversed([cls for cls in one.__mro__ if cls.__module__.startswith("plait.")] or [one]):
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(tree, ast.ClassDef)
        for statement, following in zip(tree.body, [*tree.body[1:], ast.Pass()], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                if not name.startswith("_") and name not in hidden:
                    yield f"| `{name}` | {cell(_type(ast.unparse(statement.annotation)))} | {cell(_string(following) or FIELDS.get(name, ''))} |"
        for name, value in vars(cls).items():
            if isinstance(value, property) and not name.startswith("_") and name not in hidden:
                kind = _type(inspect.signature(value.fget).return_annotation)  # type: ignore[arg-type]
                yield f"| `{name}` | {cell(kind)} | {cell(inspect.getdoc(value) or '')} |"


def _string(statement: ast.AST) -> str | None:
    if (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ):
        return statement.value.value
    return None


def _text(doc: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in doc.split("\n\n"))


def _error_names() -> list[str]:
    named = {name for names in SECTIONS.values() for name in names}
    return [
        name
        for name in sorted(exported() - named)
        if inspect.isclass(one := getattr(plait, name)) and (issubclass(one, Exception) or name == "ErrorInfo")
    ]


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield "Applications can catch these errors. [Errors](errors.md) lists all errors with their SQLSTATEs. An outcome that a handler raises is not a `PlaitError`: "
    yield f"`{Outcome.__name__}` is its base class."
    yield ""
    yield "| error | base class | meaning |"
    yield "|---|---|---|"
    for name in _error_names():
        one = getattr(plait, name)
        yield f"| `{name}` | {f'`{one.__base__.__name__}`' if issubclass(one, Exception) else ''} | {cell(_text(inspect.getdoc(one) or ''))} |"
