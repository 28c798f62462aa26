"""`plait definitions`: the kinds of job that workers have made known."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plait.cli import arguments
from plait.cli.command import Invocation, command, new_group
from plait.cli.failures import BadUsage
from plait.cli.output import show, show_json, show_table, span

group = new_group(
    "Show the kinds of job that workers have made known; change them. Without a command it lists them.",
    "definitions",
    lists=True,
)


async def list_(cli: Invocation) -> None:
    """Show the kinds of job that workers have made known, and their limits."""
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
        empty="No definitions yet. A worker makes its app's jobs known: plait worker APP",
    )


async def set_(
    cli: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The kind of job.", show_default=False)],
    active: Annotated[
        bool | None,
        typer.Option("--activate/--deactivate", help="Take new jobs and triggers, or none; jobs that exist run."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="A JSON Schema for the payloads that triggers make; none removes it.",
            show_default=False,
        ),
    ] = None,
    description: Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it does.")] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="How long one attempt may take.")
    ] = None,
    retries: Annotated[
        int | None, typer.Option("--retries", metavar="N", min=0, help="How often to try again.")
    ] = None,
    search_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--search-key",
            metavar="KEY",
            help="A key of its payloads, or a path (order.customer), by which jobs are found; may be given again; none removes all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Change a kind of job. What is not given stays; what its code says comes back when a worker with other code starts."""
    given: dict[str, Any] = {
        "active": active,
        "description": description,
        "timeout_s": arguments.duration(timeout, what="--timeout"),
        "max_attempts": None if retries is None else retries + 1,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    if schema is not None:
        settings["schema"] = None if schema in arguments.NONE else _schema(Path(schema))
    if search_keys:
        settings["search_keys"] = None if search_keys[0] in arguments.NONE else search_keys
    if not settings:
        raise BadUsage("there is nothing to set: see plait definitions set --help")
    async with cli.store() as store:
        await store.definitions.set_definition(name, settings)
        [row] = [row for row in await store.definitions.list_definitions() if row.name == name]
    if cli.json:
        show_json(row)
    else:
        show(
            f"definition {name} set: {'active' if row.active else 'inactive'}{', with a schema' if row.schema else ''}"
        )


def _schema(path: Path) -> dict[str, Any]:
    from plait.model.schemas import check_schema

    try:
        text = path.read_text()
    except OSError as error:
        raise BadUsage(f"--schema names a file: {error}") from None
    schema = arguments.payload([], text)
    check_schema(schema)
    return schema


group.callback()(command(list_))
group.command("set", short_help="Change a kind of job.")(command(set_))
group.command("list", short_help="Show the kinds of job.")(command(list_))
