"""Click and Typer applications: their parameters become schemas, and they parse exactly the values of the payload."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
import typer

from plait import Plait
from plait.cli.arguments import typed_payload
from plait.model.errors import InvalidArguments, InvalidDefinition
from plait.runtime.settings import Settings
from plait.testing import Kit, TestDatabase

from . import click_app, typer_app
from .click_app import cli

ROOT = Path(__file__).parents[2]
BOOT = [
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')",
]


@pytest.fixture
def app(database: TestDatabase) -> Plait:
    return Plait(database.url, settings=Settings(poll=0.05))


@pytest.fixture
async def kit(app: Plait, database: TestDatabase) -> AsyncIterator[Kit]:
    kit = Kit(app, database)
    kit.enter()
    yield kit
    await kit.exit()


def register(app: Plait, application: Any, **options: Any) -> None:
    module = click_app if application is cli else typer_app
    app.command_group(application, sys.executable, [*BOOT, module.__name__], retries=0, **options)


def schema_of(app: Plait, key: str) -> dict[str, Any]:
    command = app.definitions[key].command
    assert command is not None
    return dict(command.schema)


async def said(app: Plait, kit: Kit, key: str, **payload: Any) -> dict[str, Any]:
    """The parameters as the application parsed them, run by a worker."""
    handle = await app.jobs[key].enqueue(**payload)
    await kit.run_until_idle()
    found: dict[str, Any] = json.loads((await handle.result(timeout=120))["stdout"])
    return found


def test_every_command_of_a_click_application_has_a_key_and_a_schema(app: Plait) -> None:
    register(app, cli, prefix="tool ", env=["TOKEN"])
    assert list(app.definitions) == ["tool at.put", "tool copy", "tool db", "tool db.migrate"]
    command = app.definitions["tool copy"].command
    assert command is not None
    assert command.description == "Copy a thing."
    schema = schema_of(app, "tool copy")
    assert (schema["required"], schema["additionalProperties"]) == (["source", "targets", "size"], False)
    assert schema["properties"] == {
        "verbose": {"type": "integer", "minimum": 0, "maximum": 20, "default": 0},
        "tenant_id": {"type": "string", "format": "uuid"},
        "quiet": {"type": "boolean", "default": False},
        "source": {"type": "string"},
        "targets": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "mode": {"enum": ["fast", "safe"], "default": "safe", "description": "How to do it."},
        "color": {"enum": ["RED", "BLUE"]},
        "size": {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
        "ratio": {"type": "number", "default": 0.5},
        "tags": {"type": "array", "items": {"type": "string"}},
        "point": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "pairs": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
        "number": {"type": "integer"},
        "text": {"type": "string"},
        "shout": {"type": "boolean"},
        "force": {"type": "boolean", "default": False},
        "case": {"enum": ["upper", "lower"]},
        "token": {"type": "string"},
    }


def test_every_command_of_a_typer_application_has_a_key_and_a_schema(app: Plait) -> None:
    register(app, typer_app.app)
    assert list(app.definitions) == ["draw", "db.migrate"]
    schema = schema_of(app, "draw")
    assert schema["required"] == ["size", "names"]
    assert schema["properties"] == {
        "verbose": {"type": "integer", "minimum": 0, "maximum": 20, "default": 0},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "color": {"enum": ["red", "blue"], "default": "red"},
        "speed": {"enum": ["slow", "fast"], "default": "slow"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "shout": {"type": "boolean", "default": False},
        "force": {"type": "boolean", "default": False},
        "pair": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
            "default": [1, "a"],
        },
        "owner": {"type": "string", "format": "uuid"},
        "when": {"type": "string"},
        "ratio": {"type": "number", "default": 1.5},
        "out": {"type": "string", "default": "here"},
    }


async def test_a_click_command_reads_what_the_payload_says(
    app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "t0ken")
    register(app, cli, env=["TOKEN"], fixed={"tenant_id": "{{tenant.id}}"})
    assert "tenant_id" not in schema_of(app, "copy")["properties"]
    given: dict[str, Any] = {
        "source": "--help",
        "targets": ["-rf", "a b\nc; $(x)", "", "--"],
        "mode": "fast",
        "color": "BLUE",
        "size": 3.0,
        "ratio": -2.5,
        "tags": ["--config=/etc/passwd", "-x"],
        "point": [-1, "x"],
        "pairs": [[1, -2], [3, 4]],
        "number": -7,
        "text": "ü",
        "shout": False,
        "force": True,
        "case": "lower",
    }
    found = await said(app, kit, "copy", verbose=2, **given)
    tenant = str(await app.tenant_id())
    assert found.pop("root") == {"verbose": 2, "quiet": False, "tenant_id": tenant}
    # It has got its token; what it says of it is not written down.
    assert found == given | {"size": 3, "color": "Color.BLUE", "secret": None, "token": "[redacted]"}
    plain = await said(app, kit, "copy", source="a", targets=["b"], size=1)
    assert (plain["mode"], plain["tags"], plain["shout"], plain["force"]) == ("safe", [], None, False)
    assert (await said(app, kit, "db", quiet=True))["quiet"]
    assert await said(app, kit, "db.migrate") | {"root": 0} == {"root": 0, "revision": "head", "note": None}
    assert (await said(app, kit, "at.put", place="-here", what="--there"))["place"] == "-here"


async def test_a_typer_command_reads_what_the_payload_says(app: Plait, kit: Kit) -> None:
    register(app, typer_app.app)
    given: dict[str, Any] = {
        "size": 4,
        "names": ["-a", "--help"],
        "color": "blue",
        "speed": "fast",
        "tags": ["-x", "y"],
        "shout": True,
        "force": True,
        "pair": [-3, "z"],
        "owner": "0190163d-8694-739b-aea5-966c26f8ad90",
        "ratio": 2.25,
        "out": "-o",
    }
    found = await said(app, kit, "draw", verbose=3, when="2030-01-31", **given)
    assert found == given | {"when": "2030-01-31 00:00:00", "color": found["color"]}
    assert (await said(app, kit, "db.migrate", revision="--sql"))["revision"] == "--sql"


@pytest.mark.parametrize(
    ("key", "payload", "error"),
    [
        ("copy", {"source": "a", "targets": ["b"], "size": 5}, "size"),
        ("copy", {"source": "a", "targets": [], "size": 1}, "targets"),
        ("copy", {"source": "a", "size": 1}, "targets"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "secret": "x"}, "secret"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "version": True}, "version"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "case": "title"}, "case"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "text": "-x"}, "parsed as an option"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "point": [1, "--x"]}, "parsed as an option"),
        ("copy", {"source": "a\0", "targets": ["b"], "size": 1}, "NUL"),
        ("copy", {"source": "a", "targets": ["b" * 200_000], "size": 1}, "at most"),
        ("copy", {"source": "a", "targets": ["b"], "size": 1, "verbose": 10**9}, "verbose"),
        ("db.migrate", {"note": "x"}, "requires a value for revision, which comes before it"),
    ],
)
def test_what_the_application_would_not_read_so_is_refused(
    app: Plait, key: str, payload: dict[str, Any], error: str
) -> None:
    """T124, S11."""
    register(app, cli, env=["TOKEN"])
    with pytest.raises(InvalidArguments, match=error):
        app.jobs[key].new_job((), payload)


def test_only_some_commands_and_without_some_parameters(app: Plait) -> None:
    register(app, cli, only=["internal", "copy"], fixed={"tags": None, "token": "x"})
    assert list(app.definitions) == ["copy", "internal"]
    assert {"tags", "token"}.isdisjoint(schema_of(app, "copy")["properties"])
    command = app.definitions["copy"].command
    assert command is not None
    scope = {"payload": {"source": "a", "targets": ["b"], "size": 1}}
    assert command.arguments(scope)[len(BOOT) + 2 :] == ["copy", "--size=1", "--token=x", "--", "a", "b"]


def test_what_a_person_types_is_text_where_the_application_wants_text(app: Plait) -> None:
    register(app, cli, env=["TOKEN"])
    pairs = ["source=42", 'targets=["1"]', "size=3", "mode=safe", "force=true", "ratio=1.5", "text=true"]
    assert typed_payload(app.definitions["copy"], pairs, None) == {
        "source": "42", "targets": ["1"], "size": 3, "mode": "safe", "force": True, "ratio": 1.5, "text": "true",
    }  # fmt: skip


def test_an_argument_keeps_its_place(app: Plait) -> None:
    tool = typer.Typer()

    @tool.callback()
    def root(place: Annotated[str, typer.Argument()] = "here") -> None: ...

    @tool.command()
    def put(first: Annotated[str, typer.Argument(hidden=True)] = "a", second: str = typer.Argument("b")) -> None: ...

    app.command_group(tool, "/bin/tool")
    app.command_group(tool, "/bin/tool", prefix="without.", fixed={"first": None})
    assert schema_of(app, "put")["required"] == ["place"]
    command, without = app.definitions["put"].command, app.definitions["without.put"].command
    assert command is not None
    assert without is not None
    given = {"place": "-x", "first": "1", "second": "2"}
    assert command.arguments({"payload": given}) == ["/bin/tool", "--", "-x", "put", "--", "1", "2"]
    with pytest.raises(InvalidArguments, match="first, which comes before it"):
        without.arguments({"payload": {"place": "x", "second": "2"}})


def test_what_is_no_application_or_is_not_in_it_is_refused(app: Plait) -> None:
    for wrong in (None, "zoltag", print, click):
        with pytest.raises(InvalidDefinition, match="Click or Typer"):
            app.command_group(wrong, "/bin/x")
    with pytest.raises(InvalidDefinition, match="no command 'cpoy'"):
        register(app, cli, only=["cpoy"])
    with pytest.raises(InvalidDefinition, match="no command of the application has a parameter 'tenant'"):
        register(app, cli, fixed={"tenant": "x"})
    with pytest.raises(InvalidDefinition, match="list"):
        app.command_group(cli, "/bin/x", "-m tool")
    with pytest.raises(InvalidDefinition, match="absolute"):
        app.command_group(cli, "tool")
    assert app.definitions == {}


def test_an_application_that_is_one_command_is_one_job(app: Plait) -> None:
    alone = typer.Typer()

    @alone.command("greet")
    def greet(name: str) -> None: ...

    app.command_group(alone, "/bin/greet")
    command = app.definitions["greet"].command
    assert command is not None
    assert command.arguments({"payload": {"name": "-Ada"}}) == ["/bin/greet", "--", "-Ada"]
