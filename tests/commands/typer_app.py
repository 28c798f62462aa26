"""A Typer application: `python -m tests.commands.typer_app …`. Each command prints what it was given, as JSON."""

import json
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import typer

app = typer.Typer()
db = typer.Typer()
app.add_typer(db, name="db")


class Color(StrEnum):
    red = "red"
    blue = "blue"


def show(given: dict[str, Any]) -> None:
    print(json.dumps(given, default=str))


@app.callback()
def root(verbose: Annotated[int, typer.Option("-v", count=True)] = 0) -> None: ...


@app.command()
def draw(
    size: Annotated[int, typer.Argument(min=1, max=9)],
    names: list[str],
    color: Color = Color.red,
    speed: Literal["slow", "fast"] = "slow",
    tags: Annotated[list[str] | None, typer.Option()] = None,
    shout: bool = False,
    force: Annotated[bool, typer.Option("--force")] = False,
    pair: tuple[int, str] = (1, "a"),
    owner: UUID | None = None,
    when: datetime | None = None,
    ratio: float = 1.5,
    out: Path = Path("here"),
) -> None:
    """Draw something."""
    show(locals())


@db.command()
def migrate(revision: str = "head") -> None:
    show({"revision": revision})


if __name__ == "__main__":
    app()
