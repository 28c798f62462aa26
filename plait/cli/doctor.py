"""`plait doctor`: check the installation. Each finding has a code, an observation and advice."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from plait.cli.arguments import duration
from plait.cli.errors import ExitCode, exit_code
from plait.cli.invocation import Invocation, command
from plait.cli.output import show, show_json, show_table, shown_url
from plait.model.errors import SchemaOutdated, UnsafeRole

if TYPE_CHECKING:
    from datetime import timedelta

    from plait.runtime.settings import Settings
    from plait.sdk.target import Target
    from plait.store import Store
    from plait.store.health import Finding

OLDEST_POSTGRES = 15
SKEW_S = 5.0


def register(app: typer.Typer) -> None:
    app.command("doctor", short_help="Check the installation for problems.")(command(doctor))


async def doctor(
    cli: Invocation,
    old: Annotated[
        str, typer.Option("--old", metavar="TIME", help="Report transactions open for longer than this: 60s, 10m.")
    ] = "60s",
) -> int:
    """Check the database, schema, login, connection and jobs, and give advice.

    The exit code is 1 if there is a problem, and 3 if the database is not reachable or its schema is outdated. Use a login
    with the role pg_read_all_stats to see the details of other logins' transactions.
    """
    old_s = duration(old, what="--old")
    target = cli.target()
    facts: dict[str, str] = {}
    try:
        code, findings = await _examine(target, facts, old_s=60.0 if old_s is None else old_s)
    finally:
        await target.close()
    findings.sort(key=lambda finding: (finding.level != "problem", finding.code))
    if cli.json:
        show_json({"ok": code == 0, "facts": facts, "findings": findings})
        return code
    for name, value in facts.items():
        show(f"{name:<10}  {value}")
    show()
    if findings:
        rows = [(finding.level, finding.code, finding.finding, finding.advice) for finding in findings]
        show_table(("level", "code", "finding", "advice"), rows, empty="")
    else:
        show("No problems found.")
    return code


async def _examine(target: "Target", facts: dict[str, str], *, old_s: float) -> "tuple[int, list[Finding]]":
    """Fill in `facts`, and return the exit code and the findings. An unreachable database raises an error, because nothing can be checked."""
    from plait import __version__
    from plait.runtime.settings import Settings
    from plait.store import Database, Store

    facts["plait"] = __version__
    url = await target.admin_url()
    facts["database"] = shown_url(url) + (" (embedded)" if target.embedded else "")
    connection = await Database(url).connect()
    try:
        number = int(await connection.fetchval("show server_version_num"))  # 180004 is 18.4
    finally:
        await connection.close()
    major, minor = divmod(number, 10_000)
    facts["postgres"] = f"{major}.{minor}"
    findings: list[Finding] = []
    if major < OLDEST_POSTGRES:
        old = f"Postgres {major} is too old"
        advice = f"use Postgres {OLDEST_POSTGRES} or newer"
        findings.append(_problem("old_postgres", old, advice, version=major))
    settings = Settings()
    database = Database(url, pooler=settings.pooler)
    try:
        findings += await _of_the_way(database, settings, facts)
    finally:
        await database.close()
    if any(finding.code == "pooler_prepared" for finding in findings):
        return ExitCode.ERROR, findings
    try:
        store: Store = await target.open(max_connections=2)
    except (UnsafeRole, SchemaOutdated) as error:
        advice = "run plait migrate" if isinstance(error, SchemaOutdated) else "see SECURITY.md for the roles"
        findings.append(_problem("unsafe_role" if isinstance(error, UnsafeRole) else "old_schema", str(error), advice))
        return exit_code(error), findings
    try:
        findings += await _of_the_schema(store, url, facts)
        findings += await store.health.examine(old_s=old_s)
        findings += await store.health.diagnose(keep=await _longest(store, settings))
    finally:
        await store.close()
    bad = any(finding.level == "problem" for finding in findings)
    return (ExitCode.ERROR if bad else ExitCode.DONE), findings


async def _of_the_way(database: Any, settings: "Settings", facts: dict[str, str]) -> "list[Finding]":
    """Check the pooler, notifications and clocks."""
    from plait.store import Database
    from plait.store.connection_checks import clock_skew, hears_notifications, pooling

    findings = []
    pooled = await pooling(database)
    facts["pooler"] = "transaction mode" if pooled.transaction else "none, or session mode"
    if not pooled.prepared:
        findings.append(
            _problem(
                "pooler_prepared",
                "the pooler does not keep prepared statements, so statements fail at random",
                "set PLAIT_POOLER=1, or use PgBouncer 1.21 or newer with max_prepared_statements",
                pooler_setting=settings.pooler,
            )
        )
        return findings  # any further query may fail
    if settings.listen:
        direct = settings.direct_url
        if not await hears_notifications(database, Database(direct) if direct else database):
            findings.append(
                _finding(
                    "warning",
                    "notify_dead",
                    "a test notification did not arrive: workers find jobs by polling only"
                    + (", because the URL points to a pooler" if pooled.transaction and not direct else ""),
                    "set PLAIT_DIRECT_URL to a URL of the same database that bypasses the pooler"
                    if not direct
                    else "PLAIT_DIRECT_URL must point to the same database and bypass any pooler",
                    direct_url=shown_url(direct) if direct else None,
                    pooler=pooled.transaction,
                )
            )
    skew_s = await clock_skew(database)
    if abs(skew_s) > SKEW_S:
        findings.append(
            _finding(
                "warning",
                "clock_skew",
                f"this machine's clock differs from the database's by {skew_s:.0f} s",
                "scheduling is not affected, but times in logs and ids are wrong: synchronise the clock with NTP",
                skew_s=round(skew_s, 1),
            )
        )
    return findings


async def _of_the_schema(store: "Store", url: str, facts: dict[str, str]) -> "list[Finding]":
    from plait.store.drift import find_drift
    from plait.store.migrate import migrate

    findings = []
    plan = await migrate(url, plan_only=True)
    facts["schema"] = str(plan.installed)
    if not plan.empty:
        text = "the database's functions belong to another version of plait"
        findings.append(_problem("old_functions", text, "run plait migrate", installed=plan.installed))
    else:
        drift = await find_drift(store.database)
        for index in drift.missing.pop("index", []):
            findings.append(
                _problem(
                    "missing_index",
                    f"the index plait.{index} is missing",
                    f"create it again as defined in plait/sql/schema: grep -rn {index} $(python -c 'import plait; print(plait.__path__[0])')/sql/schema",
                    index=index,
                )
            )
        if drift.missing or drift.edited:
            gone = [f"{kind} {name}" for kind, names in drift.missing.items() for name in names]
            findings.append(
                _problem(
                    "schema_drift",
                    "plait's schema was modified: "
                    + "; ".join(
                        [
                            *(f"{one} is missing" for one in gone),
                            *(f"function {name} was edited" for name in drift.edited),
                        ]
                    ),
                    "to restore functions, run `update plait.installed set functions_hash = ''`, then plait migrate; to restore tables, use a backup",
                    missing=drift.missing,
                    edited=drift.edited,
                )
            )
    plan_text = await store.health.claim_plan()
    if "live_claim" not in plan_text:
        findings.append(
            _problem(
                "claim_plan",
                "claims do not use the index live_claim and read every queued job",
                "run `analyze plait.live` and check its indexes",
                plan=plan_text,
            )
        )
    return findings


async def _longest(store: "Store", settings: "Settings") -> "timedelta | None":
    """The longest retention of final jobs in this process's settings and in the tenants' settings. None if any are kept forever."""
    from datetime import timedelta

    ages = list(settings.retention().values())
    for by_status in (await store.tenants.list_retention()).values():
        ages += [None if age_s is None else timedelta(seconds=age_s) for age_s in by_status.values()]
    known = [age for age in ages if age is not None]
    return max(known) if len(known) == len(ages) else None


def _problem(code: str, finding: str, advice: str, **evidence: Any) -> "Finding":
    return _finding("problem", code, finding, advice, **evidence)


def _finding(level: str, code: str, finding: str, advice: str, **evidence: Any) -> "Finding":
    from plait.store.health import Finding

    return Finding(level=level, code=code, finding=finding, evidence=evidence, advice=advice)
