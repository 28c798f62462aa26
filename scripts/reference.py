"""Write docs/reference from what the code says of itself: `python scripts/reference.py`. A test compares the two."""

import inspect
import re
from pathlib import Path

from fastapi.routing import APIRoute

from plait.api.access import PREFIX, ROUTES
from plait.api.application import ROUTERS
from plait.api.guard import name_of
from plait.api.problems import STATUS
from plait.model import errors
from plait.model.roles import Role
from plait.model.roles import may as allowed
from plait.model.states import FINAL, LIVE, MOVES, RETRYABLE, Status
from plait.runtime.settings import Settings
from plait.store.migrate import function_files
from plait.telemetry.catalogue import METRICS

ROOT = Path(__file__).resolve().parents[1]
SQL = ROOT / "plait" / "sql"
NOTE = "<!-- Written by scripts/reference.py: change the code, and run it. -->\n"


def pages() -> dict[str, str]:
    """The generated pages, by their path below docs/reference."""
    return {
        "sql.md": sql(),
        "errors.md": error_tree(),
        "settings.md": settings(),
        "states.md": states(),
        "api.md": api(),
        "metrics.md": metrics(),
    }


def sql() -> str:
    rows = []
    for path in function_files():
        if path.stem.startswith("_"):
            continue
        text = path.read_text()
        description = re.match(rf"-- {path.stem}: (.*)", text)
        assert description is not None, path
        rows.append(
            f"| `{path.stem}` | {_cell(description[1])} | {', '.join(_granted(path.stem)) or 'nobody: internal'} |"
        )
    return "\n".join(
        [
            "# SQL functions",
            NOTE,
            "The only way to change anything. Python, the command line and your own SQL call the same ones. The file of each, "
            "`plait/sql/functions/<subject>/<name>.sql`, begins with its contract: what it moves, locks and raises.",
            "",
            "| `plait.…` | | roles that may call it |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def api() -> str:
    routes = {name_of(route): route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    rows = []
    for name, least in ROUTES.items():
        method, _, path = name.partition(" ")
        said = inspect.getdoc(routes[name].endpoint) if name in routes else "The OpenAPI 3.1 document."
        may = " ".join("yes" if least is None or allowed(role, least) else "·" for role in Role)
        rows.append(
            f"| {method} | `{path.removeprefix(PREFIX)}` | {_cell(said or '')} | {least or 'anybody'} | {may} |"
        )
    return "\n".join(
        [
            "# The HTTP API",
            NOTE,
            f"Everything but `/healthz`, `/readyz` and `/metrics` is under `{PREFIX}`. Fields, parameters and examples are in the OpenAPI document that the "
            f"server gives out, `{PREFIX}/openapi.json`. [How to use it](../how-to/api.md).",
            "",
            f"A key has one role: {', '.join(f'`{role}`' for role in Role)}. The last column says for each of them, in this order, whether it is let "
            "in. What is not in this table is refused, and a test asks every route with every role.",
            "",
            "| | | | least role | |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Errors",
            "`application/problem+json`, as RFC 9457 says; `type` is `urn:plait:problem:` and a word. Errors of plait's own:",
            "",
            "| error | status |",
            "|---|---|",
            *(f"| `{_kebab(error.__name__)}` | {status} |" for error, status in STATUS.items()),
            "",
        ]
    )


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _granted(function: str) -> list[str]:
    """The roles that grants.sql lets call a function."""
    code = re.sub(r"--[^\n]*", "", (SQL / "grants.sql").read_text())
    roles: set[str] = set()
    for names, to in re.findall(r"grant execute on function(.*?)\bto\b(.*?);", code, re.DOTALL):
        if re.search(rf"\bplait\.{function}\b(?!\w)", names):
            roles.update(role.strip().removeprefix("plait_") for role in to.split(","))
    return sorted(roles)


def error_tree() -> str:
    rows = []

    def visit(cls: type[BaseException], depth: int) -> None:
        state = getattr(cls, "sqlstate", "")
        rows.append(f"| {'&nbsp;&nbsp;' * depth}`{cls.__name__}` | {state} | {_cell(inspect.getdoc(cls) or '')} |")
        for child in cls.__subclasses__():
            if child.__module__ == errors.__name__:
                visit(child, depth + 1)

    visit(errors.PlaitError, 0)
    visit(errors.Outcome, 0)
    return "\n".join(
        [
            "# Errors",
            NOTE,
            "All in `plait.model.errors`; those that applications catch are in `plait` too. `PlaitError` is raised by plait; an "
            "`Outcome` is raised by a handler, to say what becomes of its job. A SQLSTATE is what SQL callers see.",
            "",
            "| error | SQLSTATE | |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def settings() -> str:
    rows = [
        f"| `PLAIT_{name.upper()}` | {'' if field.default is None else f'`{field.default}`'} | {_cell(field.description or '')} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(
        [
            "# Settings of a process",
            NOTE,
            "From the environment, or `Plait(settings=Settings(…))`. Settings of queues, tenants and definitions are in the "
            "database, and hold for every process: `plait queues set`, `plait tenants set`.",
            "",
            "| variable | default | |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


TOLD_BY = {
    "installation": (
        "Of the installation",
        "Read from the database when it is scraped, and the same wherever it is read: by every API, and by the process that leads. "
        "Queries take the `max` over instances.",
    ),
    "worker": ("Of a worker", "Counted by its process, once for each round trip."),
    "leader": ("Of the leader's duties", "Counted by each process that may lead."),
}


def metrics() -> str:
    parts = []
    for teller, (title, said) in TOLD_BY.items():
        rows = [
            f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} | {_cell(metric.help)} |"
            for metric in METRICS
            if metric.told_by == teller
        ]
        parts += [f"## {title}", said, "", "| metric | kind | labels | |", "|---|---|---|---|", *rows, ""]
    return "\n".join(
        [
            "# Metrics",
            NOTE,
            "As Prometheus reads them, at `/metrics`: [how to monitor](../how-to/monitor.md). Labels are bounded: of tenants, queues and definitions "
            "the first `PLAIT_METRICS_TOP` have series of their own, the others are `*`. Each process tells its `process_…` and `python_info` too.",
            "",
            *parts,
        ]
    )


def states() -> str:
    order = list(Status)
    moves = sorted(MOVES, key=lambda move: (order.index(move[0]), order.index(move[1])))
    live = [status for status in order if status in LIVE]
    final = [status for status in order if status in FINAL]
    return "\n".join(
        [
            "# States of a job",
            NOTE,
            "A job that is not final is `live`. Each live state may end in a final one, and `retry` opens a final job again: "
            + ", ".join(f"`{status}`" for status in final if status in RETRYABLE)
            + ", not `succeeded`.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            "  [*] --> scheduled: enqueue, later",
            "  [*] --> queued: enqueue",
            "  state live {",
            *(f"    {before} --> {after}" for before, after in moves),
            "  }",
            *(f"  live --> {status}" for status in final),
            *(f"  {status} --> live: retry" for status in final if status in RETRYABLE),
            "```",
            "",
            f"Live: {', '.join(f'`{status}`' for status in live)}. Final: {', '.join(f'`{status}`' for status in final)}.",
            "",
        ]
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for name, text in pages().items():
        (ROOT / "docs" / "reference" / name).write_text(text)
