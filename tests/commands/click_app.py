"""A Click application: `python -m tests.commands.click_app …`. Each command prints what it was given, as JSON."""

import json
from enum import Enum
from typing import Any

import click


class Color(Enum):
    RED = "#f00"
    BLUE = "#00f"


def show(**given: Any) -> None:
    root = click.get_current_context().find_root().params
    print(json.dumps({"root": root, **given}, default=str))


@click.group()
@click.version_option("1.0")
@click.option("-v", "--verbose", count=True)
@click.option("--tenant-id", type=click.UUID)
@click.option("--quiet", is_flag=True)
def cli(**_: Any) -> None:
    """The whole of it."""


@cli.command()
@click.argument("source")
@click.argument("targets", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(["fast", "safe"]), default="safe", show_default=True, help="How to do it.")
@click.option("--color", type=click.Choice(Color))
@click.option("--size", type=click.IntRange(1, 5, max_open=True), required=True)
@click.option("--ratio", type=float, default=0.5)
@click.option("--tag", "tags", multiple=True)
@click.option("--point", nargs=2, type=(int, str))
@click.option("--pair", "pairs", nargs=2, type=int, multiple=True)
@click.option("-n", "number", type=int)
@click.option("-t", "text")
@click.option("--shout/--whisper", default=None)
@click.option("--force", is_flag=True)
@click.option("--upper", "case", flag_value="upper")
@click.option("--lower", "case", flag_value="lower")
@click.option("--secret", hidden=True)
@click.option("--token", envvar="TOKEN", required=True)
def copy(**given: Any) -> None:
    """Copy a thing."""
    show(**given)


@cli.group(invoke_without_command=True)
@click.option("--quiet", is_flag=True)
def db(**given: Any) -> None:
    """Databases."""
    if click.get_current_context().invoked_subcommand is None:
        show(**given)


@db.command()
@click.argument("revision", default="head")
@click.argument("note", required=False)
def migrate(**given: Any) -> None:
    show(**given)


@cli.command(hidden=True)
def internal() -> None:
    show()


@cli.group()
@click.argument("place")
def at(**_: Any) -> None: ...


@at.command()
@click.argument("what")
def put(**given: Any) -> None:
    context = click.get_current_context()
    assert context.parent is not None
    show(**context.parent.params, **given)


if __name__ == "__main__":
    cli()
