"""`plait commands`: the commands that an application's workers may run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from plait.cli.invocation import Invocation, command
from plait.cli.output import show_json, show_table, span
from plait.cli.worker import App
from plait.model.commands import Argument, Command
from plait.model.parameters import Parameter


def register(app: typer.Typer) -> None:
    app.command("commands", short_help="Show the commands that an app's workers may run.")(command(commands))


async def commands(
    cli: Invocation,
    app_name: App,
    schemas: Annotated[bool, typer.Option("--schemas", help="Also show the JSON Schema of each payload.")] = False,
) -> None:
    """Show the commands that an app's workers may run, and their arguments. Needs no database."""
    app = cli.load(app_name)
    found = [(one, one.command) for one in app.definitions.values() if one.command is not None]
    if cli.json:
        show_json(
            [
                {
                    "key": one.name,
                    "executable": allowed.executable,
                    "argv": [str(part) if isinstance(part, Parameter) else part for part in allowed.argv],
                    "fixed": dict(allowed.fixed),
                    "env": list(allowed.env),
                    "description": allowed.description,
                    "queue": one.queue,
                    "timeout_s": one.timeout_s,
                    "max_attempts": one.max_attempts,
                    "schema": dict(allowed.schema),
                }
                for one, allowed in found
            ]
        )
        return
    show_table(
        ("command", "executable", "arguments", "timeout", "env", "exists", *(("schema",) if schemas else ())),
        [
            (
                one.name,
                allowed.executable,
                " ".join(_shown(part, allowed) for part in allowed.argv),
                span(one.timeout_s),
                list(allowed.env),
                _is_there(allowed.executable),
                *((json.dumps(dict(allowed.schema)),) if schemas else ()),
            )
            for one, allowed in found
        ],
        optional=("env", "timeout"),
        empty="This app allows no commands. Add them with app.command(…) or app.commands_from('commands.toml').",
    )


def _shown(part: Argument, command: Command) -> str:
    if isinstance(part, Parameter):
        return f"{part}{' (fixed)' if command.fixed.keys() & set(part.names) else ''}"
    return part if isinstance(part, str) else f"[{' '.join(part)}]"


def _is_there(executable: str) -> bool:
    return Path(executable).exists()
