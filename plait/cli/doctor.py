"""`plait doctor`: what will hurt, or already does."""

from typing import TYPE_CHECKING

import typer

from plait.cli.command import Invocation, command
from plait.cli.failures import ExitCode, exit_code
from plait.cli.output import show, show_json, show_table, shown_url
from plait.model.errors import SchemaOutdated, UnsafeRole

if TYPE_CHECKING:
    from plait.sdk.target import Target
    from plait.store.health import Finding

OLDEST_POSTGRES = 15


def register(app: typer.Typer) -> None:
    app.command("doctor", short_help="Find what will hurt, or already does.")(command(doctor))


async def doctor(cli: Invocation) -> int:
    """Check the database, its schema, the login and the jobs, and say what to do.

    Ends with 1 when there is a problem, with 3 when the database is out of reach or its schema is old.
    """
    target = cli.target()
    facts: dict[str, str] = {}
    try:
        code, findings = await _examine(target, facts)
    finally:
        await target.close()
    if cli.json:
        show_json({"ok": code == 0, "facts": facts, "findings": findings})
        return code
    for name, value in facts.items():
        show(f"{name:<10}  {value}")
    show()
    ordered = sorted(findings, key=lambda finding: finding.level != "problem")
    if ordered:
        rows = [(finding.level, finding.finding, finding.advice) for finding in ordered]
        show_table(("level", "finding", "advice"), rows, empty="")
    else:
        show("Nothing to complain about.")
    return code


async def _examine(target: "Target", facts: dict[str, str]) -> "tuple[int, list[Finding]]":
    """The facts, what is wrong, and the exit code. A database out of reach is no finding: there is nothing to examine."""
    from plait import __version__
    from plait.store import Database, Store
    from plait.store.health import Finding
    from plait.store.migrate import migrate

    facts["plait"] = __version__
    url = await target.admin_url()
    facts["database"] = shown_url(url) + (" (embedded)" if target.embedded else "")
    connection = await Database(url).connect()
    try:
        version = connection.get_server_version()
    finally:
        await connection.close()
    facts["postgres"] = f"{version.major}.{version.minor}"
    findings: list[Finding] = []
    if version.major < OLDEST_POSTGRES:
        old = f"Postgres {version.major} is too old"
        findings.append(_problem("old_postgres", old, f"use Postgres {OLDEST_POSTGRES} or newer"))
    try:
        store: Store = await target.open(max_connections=2)
    except (UnsafeRole, SchemaOutdated) as error:
        advice = "run plait migrate" if isinstance(error, SchemaOutdated) else "see SECURITY.md for the roles"
        findings.append(_problem("unsafe_role" if isinstance(error, UnsafeRole) else "old_schema", str(error), advice))
        return exit_code(error), findings
    try:
        plan = await migrate(url, plan_only=True)
        facts["schema"] = str(plan.installed)
        if not plan.empty:
            text = "the database's functions are not those of this plait"
            findings.append(_problem("old_functions", text, "run plait migrate"))
        findings += await store.health.diagnose()
    finally:
        await store.close()
    bad = any(finding.level == "problem" for finding in findings)
    return (ExitCode.ERROR if bad else ExitCode.DONE), findings


def _problem(code: str, finding: str, advice: str) -> "Finding":
    from plait.store.health import Finding

    return Finding(level="problem", code=code, finding=finding, advice=advice)
