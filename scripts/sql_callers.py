"""Write the `called` line of each SQL function's header from the sources: `python scripts/sql_callers.py`. A test checks that the lines are current.

A function is called by other SQL functions, by the schema (views, policies, defaults, constraints) and by Python code whose
strings contain the call. It is listed as called by users if its header has an example, or if nothing else calls it and users may execute it.
"""

import ast
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "plait" / "sql"
WIDTH = 100
MOST = 12
"""The maximum number of callers to list. A longer list would not help the reader."""
_DEFINITION = re.compile(r"\bcreate or replace function plait\.(\w+)\s*\(")
_CALL = re.compile(r"\bplait\.(\w+)\s*\(")
_COMMENT = re.compile(r"--[^\n]*")
_HEAD = re.compile(r"(?:--[^\n]*\n)+")
_LINE = re.compile(r"^--   called   [^\n]*\n(?:--            [^\n]*\n)*", re.MULTILINE)
_CLIENTS = frozenset({"plait_client", "plait_tenant"})


@dataclass(slots=True)
class Callers:
    sql: set[str] = field(default_factory=set)
    python: set[str] = field(default_factory=set)
    schema: bool = False
    users: bool = False

    def __str__(self) -> str:
        if len(self.sql) + len(self.python) > MOST:
            return "by more than a dozen functions"
        parts = [*sorted(self.sql, key=lambda name: (name.lstrip("_"), name)), *sorted(self.python)]
        parts += ["the schema"] * self.schema
        parts += ["users"] * self.users
        return ", ".join(parts) or "nothing"


def written() -> dict[Path, str]:
    """The text of each function's file, with a current `called` line."""
    files = {path: path.read_text() for path in sorted((SQL / "functions").glob("*/*.sql"))}
    schema = "".join(_code(path.read_text()) for path in (SQL / "schema").glob("*.sql"))
    python = {_module(path): path.read_text() for path in (ROOT / "plait").rglob("*.py")}
    called = callers(list(files.values()), schema=schema, python=python, grants=(SQL / "grants.sql").read_text())
    return {path: with_line(text, called[path.stem]) for path, text in files.items()}


def callers(
    functions: list[str], *, schema: str = "", python: Mapping[str, str] | None = None, grants: str = ""
) -> defaultdict[str, Callers]:
    """Find the callers of each function in SQL files, the schema, and Python modules (by name)."""
    called: defaultdict[str, Callers] = defaultdict(Callers)
    names = {name for text in functions for name in _DEFINITION.findall(_code(text))}
    for text in functions:
        for name, body in _bodies(_code(text)):
            for callee in set(_CALL.findall(body)) - {name}:
                called[callee].sql.add(name)
    for callee in set(_CALL.findall(schema)):
        called[callee].schema = True
    for caller, callee in _python_calls(python or {}):
        called[callee].python.add(caller)
    for name in names:
        found = called[name]
        unused = not (found.sql or found.python or found.schema)
        found.users = _has_example(name, functions) or (unused and _is_granted_to_users(name, grants))
    return called


def with_line(text: str, called: Callers) -> str:
    """Regenerate the `called` line of a file. A file without a `called` line, which is optional for private functions, is not changed."""
    head = _HEAD.match(text)
    if head is None or _LINE.search(head[0]) is None:
        return text
    lines = textwrap.wrap(str(called), WIDTH - 14, break_long_words=False, break_on_hyphens=False)
    line = "--   called   " + "\n--            ".join(lines) + "\n"
    return _LINE.sub(lambda _: line, head[0], count=1) + text[head.end() :]


def _code(text: str) -> str:
    return _COMMENT.sub("", text)


def _bodies(code: str) -> Iterator[tuple[str, str]]:
    found = list(_DEFINITION.finditer(code))
    ends = [one.start() for one in found[1:]] + [len(code)]
    for one, end in zip(found, ends, strict=True):
        yield one[1], code[one.end() : end]


def _has_example(name: str, functions: list[str]) -> bool:
    example = re.compile(rf"^--   select [^;]*?\bplait\.{name}\(", re.MULTILINE)
    return any(example.search(text) for text in functions)


def _is_granted_to_users(name: str, grants: str) -> bool:
    return any(
        _CLIENTS & set(re.findall(r"\w+", roles))
        for signatures, roles in re.findall(r"grant execute on function\b(.*?)\bto\b(.*?);", _code(grants), re.DOTALL)
        if re.search(rf"\bplait\.{name}\b", signatures)
    )


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _python_calls(modules: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pairs of a Python function and an SQL function that it calls. Calls in a constant belong to the functions that use the constant."""
    trees = {name: ast.parse(text) for name, text in modules.items()}
    constants = {name: _constants(tree) for name, tree in trees.items()}
    for name, tree in trees.items():
        known = {**_imported(tree, constants), **constants[name]}
        for function in _functions(tree):
            for callee in _calls(function, known):
                yield f"{name}.{function.name}", callee


def _constants(tree: ast.Module) -> dict[str, set[str]]:
    """The SQL functions in each constant of a module and its classes, directly or through earlier constants."""
    found: dict[str, set[str]] = {}
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found[target.id] = _calls(statement.value, found)
    return found


def _imported(tree: ast.Module, constants: Mapping[str, dict[str, set[str]]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            theirs = constants.get(node.module or "", {})
            found |= {alias.asname or alias.name: theirs[alias.name] for alias in node.names if alias.name in theirs}
    return found


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module and the methods of its classes. A nested function is part of the function that contains it."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement


def _calls(node: ast.AST, constants: Mapping[str, set[str]]) -> set[str]:
    docstrings = {
        id(one.body[0].value)
        for one in ast.walk(node)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and isinstance(one.body[0], ast.Expr)
    }
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in docstrings:
            found |= set(_CALL.findall(one.value))
        elif isinstance(one, ast.Name | ast.Attribute):
            found |= constants.get(one.id if isinstance(one, ast.Name) else one.attr, set())
    return found


def main() -> None:
    for path, text in written().items():
        if path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main()
