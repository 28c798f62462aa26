"""`plait migrate`: install or upgrade plait's schema."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli.invocation import Invocation, command
from plait.cli.output import show, show_json

if TYPE_CHECKING:
    from plait.store.migrate import Plan


def register(app: typer.Typer) -> None:
    app.command("migrate", short_help="Install or upgrade plait in a database.")(command(migrate))


async def migrate(
    cli: Invocation,
    plan_only: Annotated[bool, typer.Option("--plan", help="Only show what would be done.")] = False,
    allow_blocking: Annotated[
        bool,
        typer.Option(
            "--allow-blocking", help="Allow migrations that block workers while a large table is scanned or rewritten."
        ),
    ] = False,
    grant_client: Annotated[
        str | None,
        typer.Option(
            "--grant-client",
            metavar="ROLE",
            help="Grant your application's login the role plait_client, to enqueue and read jobs.",
        ),
    ] = None,
) -> None:
    """Install or upgrade plait in a database: tables, functions, roles and grants, in one transaction.

    Needs the URL of a superuser, or of a role that may create roles and owns the database. Several processes may
    run this command at once. If a table is in use, the command waits for up to 400 ms, then rolls back so that other queries can
    proceed, and retries. --plan shows the tables that would be locked, and changes nothing.
    """
    from plait.store.migrate import migrate as apply

    target = cli.target()
    plan = await apply(
        await target.admin_url(), plan_only=plan_only, grant_client=grant_client, allow_blocking=allow_blocking
    )
    granted = None if plan_only else grant_client
    await target.close()
    if cli.json:
        done: dict[str, Any] = {"installed": plan.installed, "target": plan.target, "migrations": plan.migrations}
        locks = [{**asdict(lock), "blocks": lock.blocks} for lock in plan.locks]
        done |= {"functions": plan.functions, "locks": locks, "applied": not plan_only, "granted_client": granted}
        show_json(done)
        return
    for line in _lines(plan, plan_only=plan_only):
        show(line)
    if grant_client is not None:
        show(f"{'would grant' if plan_only else 'granted'} plait_client to {grant_client}")


def _lines(plan: "Plan", *, plan_only: bool) -> list[str]:
    if plan.empty:
        return [f"schema {plan.target} is up to date"]
    if plan.installed is None:
        return [f"{'would install' if plan_only else 'installed'} schema {plan.target}"]
    word = "would apply" if plan_only else "applied"
    return [
        *(f"{word} {name}" for name in plan.migrations),
        *(_locks(plan) if plan_only else ()),
        *(["would replace the functions" if plan_only else "replaced the functions"] if plan.functions else []),
        f"schema {plan.installed} -> {plan.target}" if plan.installed != plan.target else f"schema {plan.target}",
    ]


def _locks(plan: "Plan") -> list[str]:
    """Each locked table, and the statement that locks it."""
    lines = [
        f"  locks {lock}{'  <- blocks workers' if lock.blocks else ''}\n    {lock.statement[:150]}"
        for lock in plan.locks
    ]
    if any(lock.blocks for lock in plan.locks):
        lines.append("  requires --allow-blocking; run it when load is low")
    return lines
