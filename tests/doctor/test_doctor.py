"""`plait doctor`: no finding on a healthy system; checks of the connection and of the schema."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from plait.cli import doctor
from plait.cli.errors import ExitCode
from plait.testing import TestDatabase, TestServer

from ..cli.cli_runner import CliResult, call, started, wait_for_line
from ..cli.conftest import SHOP
from ..cli.test_services import wait_until
from ..connection_modes import connection_mode

ROOT = Path(__file__).resolve().parents[2]
Doctor = Callable[..., CliResult]


@pytest.fixture
def database(server: TestServer) -> Any:
    """Its clock runs, and a test may damage it."""
    made = asyncio.run(server.create_database(fake_clock=False))
    yield made
    asyncio.run(server.drop_database(made))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PLAIT_DATABASE_URL", "PLAIT_DIRECT_URL", "PLAIT_POOLER", "PLAIT_LISTEN"):
        monkeypatch.delenv(name, raising=False)


def as_superuser(database: TestDatabase, *statements: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(database.admin_url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute())


def findings(url: str, *options: str) -> dict[str, Any]:
    ran = call("doctor", "--url", url, "--json", *options)
    told = {finding["code"]: finding for finding in ran.json["findings"]}
    problems = [code for code, finding in told.items() if finding["level"] == "problem"]
    assert ran.code in (ExitCode.DONE, ExitCode.ERROR, 3)
    assert (ran.code != ExitCode.DONE) == bool(problems)
    return told


def test_a_healthy_system_has_no_finding(database: TestDatabase, tmp_path: Path) -> None:
    app = tmp_path / "shop.py"
    app.write_text(SHOP)
    with started("worker", app, "--url", database.url) as worker:
        first = wait_for_line(worker, "")
        while not ("leading" in first and "worker started" in first):
            first += wait_for_line(worker, "")
        job = call("enqueue", app, "greet", "name=Ada", "--url", database.url).out.strip()
        wait_until(database, job, "succeeded")
        ran = call("doctor", "--url", database.url)
        assert (ran.code, "No problems found." in ran.out) == (0, True), ran.out
        told = call("doctor", "--url", database.url, "--json").json
        assert (told["ok"], told["findings"]) == (True, [])
        worker.terminate()
        worker.wait(180)


def test_each_finding_says_how_bad_what_was_seen_and_what_to_do(database: TestDatabase) -> None:
    call("enqueue", "tidy", "--queue", "nowhere", "--url", database.url)
    finding = findings(database.url)["no_worker"]
    assert finding["level"] == "problem"
    assert finding["evidence"] == {"queue": "nowhere", "jobs": 1}
    assert "plait worker" in finding["advice"]
    assert "nowhere" in finding["finding"]
    text = call("doctor", "--url", database.url)
    assert text.code == ExitCode.ERROR
    assert "no_worker" in text.out


def test_an_open_transaction_is_told_through_the_command(database: TestDatabase) -> None:
    async def held() -> dict[str, Any]:
        holder = await asyncpg.connect(database.url)
        try:
            await holder.execute("begin isolation level repeatable read; select 1 from plait.installed")
            return await asyncio.to_thread(findings, database.url, "--old", "0s")
        finally:
            await holder.close()

    assert "old_transaction" in asyncio.run(held())
    assert "old_transaction" not in findings(database.url, "--old", "0s")


def test_an_index_that_somebody_dropped_is_missed_and_so_is_the_claims_plan(database: TestDatabase) -> None:
    as_superuser(database, "drop index plait.live_claim", "drop index plait.jobs_tenant")
    ran = call("doctor", "--url", database.url, "--json")
    codes = sorted(finding["code"] for finding in ran.json["findings"])
    assert codes == ["claim_plan", "missing_index", "missing_index"]


def test_what_somebody_changed_by_hand_is_found(database: TestDatabase) -> None:
    as_superuser(
        database,
        "drop trigger guard on plait.live",
        "create or replace function plait.now() returns timestamptz language sql as 'select clock_timestamp()'",
        "drop table plait.buckets",
    )
    drift = findings(database.url)["schema_drift"]["evidence"]
    assert drift["missing"] == {"table": ["buckets"], "trigger": ["live.guard"]}


def test_an_edited_function_is_found_and_comes_back_as_the_advice_says(database: TestDatabase) -> None:
    async def edit() -> None:
        connection = await asyncpg.connect(database.admin_url)
        text = await connection.fetchval("select pg_get_functiondef('plait.overview'::regproc)")
        await connection.execute(text.replace("2000", "20"))
        await connection.close()

    asyncio.run(edit())
    finding = findings(database.url)["schema_drift"]
    assert finding["evidence"]["edited"] == ["overview"]
    as_superuser(database, "update plait.installed set functions_hash = ''")
    assert "old_functions" in findings(database.url)
    assert call("migrate", "--url", database.admin_url).code == 0
    assert findings(database.url) == {}


def test_a_server_that_is_too_old_is_found(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "OLDEST_POSTGRES", 99)
    assert "old_postgres" in findings(database.url)


def test_a_superusers_url_and_an_old_schema_are_refused(database: TestDatabase, server: TestServer) -> None:
    assert findings(database.admin_url)["unsafe_role"]["level"] == "problem"
    as_superuser(database, "update plait.installed set version = version - 1")
    assert "old_schema" in findings(database.url)


def test_notifications_that_lead_elsewhere_are_found(
    database: TestDatabase, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T108: LISTEN on another database hears nothing, and says nothing."""
    monkeypatch.setenv("PLAIT_DIRECT_URL", server.admin_url)
    assert findings(database.url)["notify_dead"]["level"] == "warning"
    monkeypatch.setenv("PLAIT_LISTEN", "false")
    assert "notify_dead" not in findings(database.url), "nobody wants them"


def test_a_clock_that_is_off_is_found(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    from plait.store import connection_checks

    from .test_jobs import TwoHoursAhead

    monkeypatch.setattr(connection_checks, "time", TwoHoursAhead())
    assert findings(database.url)["clock_skew"]["evidence"]["skew_s"] == pytest.approx(7200, abs=60)


def test_a_pooler_in_transaction_mode_is_seen_with_what_it_breaks(
    database: TestDatabase, server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T110."""
    if connection_mode.pgbouncer() is None:
        pytest.skip(connection_mode.MISSING)
    with connection_mode.running_pgbouncer(server.admin_url) as port:
        url = f"postgresql://plait_dev@127.0.0.1:{port}/{database.name}?sslmode=disable"
        assert "pooler_prepared" in findings(url), "Debian's is older than 1.21"
        monkeypatch.setenv("PLAIT_POOLER", "1")
        told = call("doctor", "--url", url, "--json").json
        assert told["facts"]["pooler"] == "transaction mode"
        assert [finding["code"] for finding in told["findings"]] == ["notify_dead"]
        monkeypatch.setenv("PLAIT_DIRECT_URL", database.url)
        assert findings(url) == {}
        assert call("doctor", "--url", database.url, "--json").json["facts"]["pooler"] == "none, or session mode"


def test_every_finding_is_in_the_reference_and_provoked_in_a_test() -> None:
    sql = "".join(path.read_text() for path in (ROOT / "plait/sql/functions").rglob("*.sql"))
    python = (ROOT / "plait/cli/doctor.py").read_text()
    codes = set(re.findall(r"select '(?:problem|warning)', '(\w+)'", sql))
    codes |= set(re.findall(r'_problem\(\s*"(\w+)"', python))
    codes |= set(re.findall(r'_finding\(\s*"(?:problem|warning)",\s*"(\w+)"', python))
    codes |= {"unsafe_role", "old_schema"}
    assert len(codes) > 30
    page = (ROOT / "docs/reference/findings.md").read_text()
    assert set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE)) == codes
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert {code for code in codes if f'"{code}"' not in tests} == set()


def test_the_doctor_says_which_postgres_it_is_with_its_minor_release(database: TestDatabase) -> None:
    async def number() -> int:
        connection = await asyncpg.connect(database.admin_url)
        try:
            return int(await connection.fetchval("show server_version_num"))
        finally:
            await connection.close()

    major, minor = divmod(asyncio.run(number()), 10_000)
    assert call("doctor", "--url", database.url, "--json").json["facts"]["postgres"] == f"{major}.{minor}"
