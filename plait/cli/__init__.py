"""The command-line interface. It depends on all other packages; the job logic is in the database.

    invocation.py common to every command: --url, --data-dir, --json, --debug, an event loop
    errors.py     turns an error into one line and an exit code
    loading.py    loads an application from `app.py`, `app.py:app`, `module` or `module:app`
    arguments.py  parses command-line values (key=value, 10m, 10/1s)
    output.py     tables on a terminal, plain text elsewhere, JSON with --json
    serving.py    a process that runs services until it gets a signal

Each command or group of commands has its own file. Startup must be fast, so modules that connect or run jobs are imported only
when they are used.
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
    errors,
    events,
    job_failures,
    job_logs,
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
    trigger_firings,
    triggers,
    worker,
    workers,
    workflows,
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
    nodes,
    commands,
):
    module.register(app)
workflows.register(jobs.group)
job_failures.register(jobs.group)
job_logs.register(jobs.group)
trigger_firings.register(triggers.group)
for group in (jobs, queues, workers, tenants, definitions, triggers, events, keys, endpoints, connectors):
    app.add_typer(group.group)


def main() -> None:
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. All errors are reported here."""
    try:
        code = app(list(arguments), prog_name="plait", standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - any error becomes one line for the user
        return errors.report(error, arguments)
    return code if isinstance(code, int) else 0
