"""The command line: it composes everything below it, and decides nothing that the database decides.

    invocation.py what every command has: --url, --data-dir, --json, --debug, a loop to run on
    failures.py   the one place that turns an error into a line and an exit code
    loading.py    an application from `app.py`, `app.py:app`, `module` or `module:app`
    arguments.py  what people type (key=value, 10m, 10/1s) as values
    output.py     tables on a terminal, plain text elsewhere, JSON when asked
    serving.py    a process that runs services until a signal comes

and one file for each noun. Starting must be quick, so nothing that connects or runs jobs is imported before it is used.
"""

import sys
from collections.abc import Sequence

import typer

from plait.cli import (
    api,
    bench,
    commands,
    connectors,
    definitions,
    demo,
    dev,
    doctor,
    endpoints,
    enqueue,
    events,
    failures,
    jobs,
    keys,
    leader,
    migrate,
    nodes,
    queues,
    restore,
    run,
    tenants,
    top,
    trees,
    trigger_firings,
    triggers,
    worker,
    workers,
)
from plait.cli.invocation import new_group, root

app = new_group("Durable, multi-tenant jobs for Python on Postgres.")
app.callback()(root)
for module in (
    run,
    dev,
    worker,
    leader,
    api,
    enqueue,
    migrate,
    restore,
    demo,
    doctor,
    top,
    bench,
    workers,
    nodes,
    commands,
):
    module.register(app)
trees.register(jobs.group)
trigger_firings.register(triggers.group)
for group in (jobs, queues, tenants, definitions, triggers, events, keys, endpoints, connectors):
    app.add_typer(group.group)


def main() -> None:
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code. Errors are told here and nowhere else."""
    try:
        code = app(list(arguments), prog_name="plait", standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it is, a person gets one line
        return failures.report(error, arguments)
    return code if isinstance(code, int) else 0
