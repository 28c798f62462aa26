"""Generate the clients' types and the web UI's table of roles from the server's OpenAPI document: `.venv/bin/python scripts/client_types.py`.

A test compares the generated files in the tree with this script's output. The script supports the JSON Schema forms that the document
uses. It fails for any other form, so that no generated type is less specific than the document.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from plait.api.access import PREFIX
from plait.api.application import build

ROOT: Final = Path(__file__).resolve().parents[1]
TYPESCRIPT: Final = ROOT / "clients/typescript/src/types.ts"
UI_ROLES: Final = ROOT / "ui/src/api/roles.ts"
PYTHON: Final = ROOT / "clients/python/plait_client/types.py"
GENERATED: Final = "// Generated from the server's OpenAPI document by scripts/client_types.py. Do not edit."
BODIES: Final = ("application/json", "application/problem+json")

Schema = dict[str, Any]


def main() -> None:
    for path, text in made().items():
        path.write_text(text)


def made() -> dict[Path, str]:
    """The generated files, by path."""
    document = build(None).openapi()  # type: ignore[arg-type]  # the document needs no database
    return {TYPESCRIPT: typescript(document), UI_ROLES: roles(document), PYTHON: python(document)}


def typescript(document: Schema) -> str:
    parts = [GENERATED]
    for name, schema in _schemas(document):
        parts.append(f"{_about(schema)}export {_interface(name, schema)}")
    routes = [f"  {_quoted(route)}: {_route(operation)};" for route, operation in _operations(document)]
    parts.append(
        "\n".join(
            ["/** Every route, with its parameters, body and response. */", "export interface Routes {", *routes, "}"]
        )
    )
    return "\n\n".join(parts) + "\n"


def roles(document: Schema) -> str:
    """The minimum role of each route, so that a page offers only actions that the server allows."""
    lines = [f"  {_quoted(route)}: {_quoted(one['x-least-role'])}," for route, one in _operations(document)]
    head = 'export const LEAST_ROLE: Record<keyof Routes, Role | "anybody"> = {'
    about = "/** The minimum role that may call each route. */"
    return "\n".join([GENERATED, "", 'import type { Role, Routes } from "./types";', "", about, head, *lines, "};", ""])


def _interface(name: str, schema: Schema) -> str:
    if "enum" in schema:
        return f"type {name} = {' | '.join(map(_quoted, schema['enum']))};"
    fields = [
        f"{_about(field, '  ')}  {key}{'' if needed else '?'}: {_ts(field)};" for key, field, needed in _fields(schema)
    ]
    return "\n".join([f"interface {name} {{", *fields, "}"])


def _route(operation: Schema) -> str:
    groups: dict[str, list[str]] = {"path": [], "query": []}
    for one in operation.get("parameters", []):
        if one["in"] in groups:
            groups[one["in"]].append(f"{one['name']}{'' if one.get('required') else '?'}: {_ts(one['schema'])}")
    path, query = (f"{{ {'; '.join(group)} }}" if group else "{}" for group in groups.values())
    body = operation.get("requestBody")
    given = "undefined" if body is None else _ts(_content(body)) + ("" if body.get("required") else " | undefined")
    return f"{{ path: {path}; query: {query}; body: {given}; answer: {_answer(operation, _ts, 'undefined')} }}"


def _ts(schema: Schema) -> str:
    return _type(
        schema,
        quoted=_quoted,
        plain={"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"},
        anything="unknown",
        array=lambda item: f"{item}[]" if re.fullmatch(r"\w+", item) else f"({item})[]",
        mapping=lambda key, value: (
            f"Partial<Record<{key}, {value}>>" if key != "string" else f"Record<string, {value}>"
        ),
        inline=lambda schema: (
            "{ " + "; ".join(f"{k}{'' if n else '?'}: {_ts(f)}" for k, f, n in _fields(schema)) + " }"
        ),
    )


def _about(schema: Schema, indent: str = "") -> str:
    text = " ".join(schema.get("description", "").split())
    return f"{indent}/** {text} */\n" if text else ""


def python(document: Schema) -> str:
    routes = ", ".join(_quoted(route) for route, _ in _operations(document))
    head = [
        '"""Generated from the server\'s OpenAPI document by scripts/client_types.py. Do not edit."""',
        "from __future__ import annotations",
        "from typing import Any, Literal, NotRequired, TypedDict",
        f"Route = Literal[{routes}]",
    ]
    parts = ["\n\n".join(head)]
    for name, schema in _schemas(document):
        if "enum" in schema:
            parts.append(f"{name} = Literal[{', '.join(map(_quoted, schema['enum']))}]")
            continue
        fields = [
            f"    {key}: {_py(field) if needed else f'NotRequired[{_py(field)}]'}"
            for key, field, needed in _fields(schema)
        ]
        text = " ".join(schema.get("description", "").split())
        about = [f"    {_quoted(text, triple=True)}", ""] if text else []
        parts.append("\n".join([f"class {name}(TypedDict):", *about, *(fields or ["    pass"])]))
    return _formatted("\n\n\n".join(parts) + "\n")


def _py(schema: Schema) -> str:
    return _type(
        schema,
        quoted=lambda value: f"Literal[{_quoted(value)}]",
        plain={"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
        anything="Any",
        array=lambda item: f"list[{item}]",
        mapping=lambda key, value: f"dict[{'str' if key == 'string' else key}, {value}]",
        inline=lambda _: "dict[str, Any]",
    ).replace('"] | Literal["', '", "')


def _formatted(source: str) -> str:
    ruff = [
        str(Path(sys.executable).with_name("ruff")),
        "format",
        "--config",
        str(ROOT / "pyproject.toml"),
        "--stdin-filename",
        PYTHON.name,
        "-",
    ]
    return subprocess.run(ruff, input=source, capture_output=True, text=True, check=True).stdout


def _type(
    schema: Schema,
    *,
    quoted: Callable[[str], str],
    plain: dict[str, str],
    anything: str,
    array: Callable[[str], str],
    mapping: Callable[[str, str], str],
    inline: Callable[[Schema], str],
) -> str:
    def of(schema: Schema) -> str:
        match schema:
            case {"$ref": ref}:
                return _name(ref.rpartition("/")[2])
            case {"anyOf": kinds}:
                return " | ".join(dict.fromkeys(of(kind) for kind in kinds))
            case {"const": value}:
                return quoted(value)
            case {"enum": values}:
                return " | ".join(map(quoted, values))
            case {"type": "array", "items": items}:
                return array(of(items))
            case {"type": "object", "properties": _}:
                return inline(schema)
            case {"type": "object"}:
                values = schema.get("additionalProperties", True)
                keys = of(schema["propertyNames"]) if "$ref" in schema.get("propertyNames", {}) else "string"
                return mapping(keys, anything if values in (True, {}) else of(values))
            case {"type": kind}:
                return plain[kind]
            case _ if not schema.keys() - {"title", "description", "default", "examples"}:
                return anything
            case _:
                raise SystemExit(f"unknown JSON Schema form in the OpenAPI document: {schema}")

    return of(schema)


def _schemas(document: Schema) -> Iterator[tuple[str, Schema]]:
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield _name(name), schema


def _name(name: str) -> str:
    """Page_Job_ is PageOfJob, plait__api__queues__Settings is QueuesSettings."""
    if generic := re.fullmatch(r"(\w+?)_(\w+)_", name):
        return f"{generic[1]}Of{generic[2]}"
    *_, module, own = ["", "", *name.split("__")]
    return f"{module.capitalize()}{own}"


def _fields(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    needed = schema.get("required", [])
    for key, field in schema.get("properties", {}).items():
        yield key, field, key in needed


def _operations(document: Schema) -> Iterator[tuple[str, Schema]]:
    for path, methods in sorted(document["paths"].items()):
        if path.startswith(PREFIX):
            for method, operation in methods.items():
                if _is_stream(operation):
                    continue
                yield f"{method.upper()} {path.removeprefix(PREFIX)}", operation


def _is_stream(operation: Schema) -> bool:
    """Whether the route is a stream, which has no response type."""
    return any("text/event-stream" in answer.get("content", {}) for answer in operation["responses"].values())


def _answer(operation: Schema, typed: Callable[[Schema], str], nothing: str) -> str:
    [code, *_] = sorted(code for code in operation["responses"] if code < "4")
    answer = operation["responses"][code]
    return typed(_content(answer)) if "content" in answer and code < "204" else nothing


def _content(body: Schema) -> Schema:
    return next((body["content"][kind]["schema"] for kind in BODIES if kind in body["content"]), {})


def _quoted(text: str, *, triple: bool = False) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""' if triple else f'"{escaped}"'


if __name__ == "__main__":
    main()
