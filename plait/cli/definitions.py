"""`plait definitions`: the job definitions that workers have registered."""

import getpass
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.errors import BadUsage
from plait.cli.invocation import Invocation, command, new_group
from plait.cli.output import show, show_json, show_table, span
from plait.model.errors import NotFound

if TYPE_CHECKING:
    from plait.store.audit import Entry

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job definition.", show_default=False)]

group = new_group(
    "Show and change job definitions. Lists them by default.",
    "definitions",
    lists=True,
)


async def list_(cli: Invocation) -> None:
    """Show the job definitions that workers have registered, and their limits."""
    async with cli.store() as store:
        rows = await store.definitions.list_definitions()
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("definition", "queue", "priority", "attempts", "timeout", "max running", "rate", "active"),
        [
            (
                row.name,
                row.queue,
                row.priority,
                row.max_attempts,
                span(row.timeout_s),
                row.max_running,
                f"{row.rate_count}/{span(row.rate_period_s)}" if row.rate_count and row.rate_period_s else None,
                row.active,
            )
            for row in rows
        ],
        optional=("priority", "active", "rate"),
        empty="No definitions yet. Workers register the jobs of their app: plait worker APP",
    )


async def set_(
    cli: Invocation,
    name: Name,
    active: Annotated[
        bool | None,
        typer.Option(
            "--activate/--deactivate", help="Accept or reject new jobs and triggers. Existing jobs still run."
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="File with a JSON Schema for payloads; none removes it.",
            show_default=False,
        ),
    ] = None,
    description: Annotated[str | None, typer.Option("--description", metavar="TEXT", help="Description.")] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Time limit of each attempt.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option("--retries", metavar="N", min=0, help="Maximum number of retries.")
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", metavar="QUEUE", help="Queue of new jobs.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", metavar="N", help="Lower runs first.")] = None,
    max_running: Annotated[
        str | None,
        typer.Option(
            "--max-running", metavar="N", help="Concurrency limit: jobs that may run at once; none removes it."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="N/TIME", help="Rate limit: starts per period, such as 10/1m; none removes it."),
    ] = None,
    key_max_running: Annotated[
        str | None,
        typer.Option("--key-max-running", metavar="N", help="Concurrency limit of each limit key; none removes it."),
    ] = None,
    key_rate: Annotated[
        str | None, typer.Option("--key-rate", metavar="N/TIME", help="Rate limit of each limit key; none removes it.")
    ] = None,
    search_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--search-key",
            metavar="KEY",
            help="Payload key or path (order.customer) that jobs can be searched by; can be repeated; none removes all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Override settings of a job definition. Overrides take precedence over the values in code until they are cleared. Other settings stay unchanged."""
    given: dict[str, Any] = {
        "active": active,
        "description": description,
        "timeout_s": arguments.duration(timeout, what="--timeout"),
        "max_attempts": None if retries is None else retries + 1,
        "queue": queue,
        "priority": priority,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    if schema is not None:
        settings["schema"] = None if schema in arguments.NONE else _schema(Path(schema))
    if search_keys:
        settings["search_keys"] = None if search_keys[0] in arguments.NONE else search_keys
    settings |= {**_whole("max_running", max_running), **_whole("key_max_running", key_max_running)}
    settings |= {**_rate("rate", rate), **_rate("key_rate", key_rate)}
    if not settings:
        raise BadUsage("no setting given; see plait definitions set --help")
    async with cli.store() as store:
        changing = store.auditing(_entry("definition.change", name, settings))
        await changing.definitions.set_definition(name, settings, author=_author())
        [row] = [row for row in await store.definitions.list_definitions() if row.name == name]
    if cli.json:
        show_json(row)
    else:
        show(
            f"definition {name} set: {'active' if row.active else 'inactive'}{', with a schema' if row.schema else ''}"
        )


async def clear(
    cli: Invocation,
    name: Name,
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SETTING]...", help="Names of the settings to clear. Default: all.", show_default=False
        ),
    ] = None,
) -> None:
    """Clear overrides of a job definition, so that the values in its code apply again."""
    async with cli.store() as store:
        changing = store.auditing(_entry("definition.clear", name, {"settings": settings or None}))
        cleared = await changing.definitions.clear_overrides(name, settings or None)
    if cli.json:
        show_json({"definition": name, "cleared": cleared})
    else:
        show(f"definition {name}: {cleared} override{'s' * (cleared != 1)} cleared")


async def show_(cli: Invocation, name: Name) -> None:
    """Show the overrides of a job definition, each with its value, the value in code, and who set it and when."""
    async with cli.store() as store:
        rows = await store.definitions.list_definitions()
        overrides = await store.definitions.list_overrides(name)
    row = next((row for row in rows if row.name == name), None)
    if row is None:
        raise NotFound(f"there is no job definition {name!r}")
    if cli.json:
        decoded = [
            {**asdict(one), "value": _decoded(one.value), "code_value": _decoded(one.code_value)} for one in overrides
        ]
        show_json({**asdict(row), "overrides": decoded})
        return
    show(
        f"{name}: queue {row.queue}, priority {row.priority}, {row.max_attempts} attempts, timeout {span(row.timeout_s)}"
    )
    show_table(
        ("setting", "set to", "in code", "by", "at"),
        [(one.setting, one.value, one.code_value, one.author, one.set_at) for one in overrides],
        optional=("in code",),
        empty="No setting is overridden.",
    )


async def schema_(
    cli: Invocation,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names of job definitions. Default: all.", show_default=False),
    ] = None,
) -> None:
    """Print the JSON Schemas of payloads as one document, for generators of types: each definition is a part of `$defs`.

    A definition without a schema, which accepts any payload, is `{}`.
    """
    async with cli.store() as store:
        rows = {row.name: row for row in await store.definitions.list_definitions()}
    if missing := [name for name in names or () if name not in rows]:
        raise NotFound(f"there is no job definition {missing[0]!r}")
    wanted = {name: _decoded(rows[name].schema) or {} for name in names or rows}
    show_json({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": wanted})


def _decoded(text: str | None) -> Any:
    import msgspec

    return None if text is None else msgspec.json.decode(text)


def _author() -> str:
    """The author of a change. It is the operating system's user, because many people may share a database login."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"


def _entry(action: str, name: str, detail: Mapping[str, Any]) -> "Entry":
    import msgspec

    from plait.store.audit import Entry

    said = {key: value for key, value in detail.items() if value is not None}
    return Entry(tenant_id=None, actor=_author(), action=action, object=name, detail=msgspec.json.encode(said).decode())


def _whole(setting: str, text: str | None) -> dict[str, int | None]:
    if text is None:
        return {}
    if text in arguments.NONE:
        return {setting: None}
    if not text.isascii() or not text.isdigit():
        raise BadUsage(f"--{setting.replace('_', '-')} must be a whole number or none, got {text!r}")
    return {setting: int(text)}


def _rate(setting: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    count, period = f"{setting}_count", f"{setting}_period_s"
    if text in arguments.NONE:
        return {count: None, period: None}
    number, _, span_ = text.partition("/")
    if not (number.isascii() and number.isdigit()) or not span_:
        raise BadUsage(f"--{setting.replace('_', '-')} must be a rate such as 10/1m, or none, got {text!r}")
    return {count: int(number), period: arguments.duration(span_, what=f"--{setting.replace('_', '-')}")}


def _schema(path: Path) -> dict[str, Any]:
    from plait.model.schemas import check_schema

    try:
        text = path.read_text()
    except OSError as error:
        raise BadUsage(f"--schema must be a readable file: {error}") from None
    schema = arguments.payload([], text)
    check_schema(schema)
    return schema


group.callback()(command(list_))
group.command("set", short_help="Override settings of a job definition.")(command(set_))
group.command("clear", short_help="Clear overrides.")(command(clear))
group.command("show", short_help="Show overrides and the values in code.")(command(show_))
group.command("schema", short_help="Print the JSON Schemas of payloads.")(command(schema_))
group.command("list", short_help="Show job definitions.")(command(list_))
