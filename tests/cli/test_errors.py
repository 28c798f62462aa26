"""Exit codes, and one line on stderr for every error."""

import json
import os
import subprocess
import sys

import pytest

from plait import __version__
from plait.cli.errors import exit_code, report
from plait.embedded.postgres_errors import StartFailed
from plait.model import errors
from plait.testing import TestDatabase

from .cli_runner import call, run
from .conftest import RunPlait, WriteApp

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DatabaseUnreachable(), 3),
        (errors.SchemaOutdated(), 3),
        (StartFailed("…"), 3),
        (errors.UnsafeRole(), 1),
        (errors.NotFound(), 1),
        (errors.InvalidArguments(), 2),
        (KeyboardInterrupt(), 130),
        (ValueError("?"), 1),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_a_group_of_errors_is_told_by_its_first(capsys: pytest.CaptureFixture[str]) -> None:
    group = BaseExceptionGroup("tasks", [ExceptionGroup("inner", [errors.SchemaOutdated("old")]), ValueError("later")])
    assert report(group, []) == 3
    assert capsys.readouterr().err == "plait: old\n"


def test_a_server_that_does_not_answer_is_3() -> None:
    ran = run("jobs", "list", "--url", NOWHERE)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("plait: the database cannot be reached")
    assert len(ran.err.splitlines()) == 1


def test_a_database_without_plait_is_3(empty_database: TestDatabase) -> None:
    ran = call("workers", "--url", empty_database.admin_url)
    assert (ran.code, ran.err) == (3, "plait: plait is not installed in this database. Run `plait migrate`.\n")


def test_errors_are_json_when_asked() -> None:
    told = json.loads(call("jobs", "list", "--json", "--url", NOWHERE).err)["error"]
    assert (told["code"], told["exit_code"]) == ("database_unreachable", 3)
    told = json.loads(call("jobs", "show", "nonsense", "--json").err)["error"]
    assert (told["code"], told["exit_code"]) == ("bad_usage", 2)
    told = json.loads(call("--json", "jobs", "list", "--limit", "many").err)["error"]
    assert told["exit_code"] == 2


def test_misuse_is_2() -> None:
    assert call("frobnicate").code == 2
    assert call("jobs", "list", "--frobnicate").code == 2
    assert call("jobs", "show").code == 2
    assert call("--url", NOWHERE, "--data-dir", "x", "workers").code == 2
    assert "No such command 'frobnicate'" in call("frobnicate").err


def test_a_traceback_is_shown_to_who_debugs(write_app: WriteApp, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = write_app("1 / 0\n", "broken.py")
    assert "Traceback" not in call("worker", broken).err
    assert "Traceback" in call("worker", broken, "--debug").err
    monkeypatch.setenv("PLAIT_DEBUG", "1")
    assert "Traceback" in call("worker", broken).err


def test_a_login_without_the_right_is_told_which_it_needs(database: TestDatabase, plait_on: RunPlait) -> None:
    import asyncio

    import asyncpg

    async def make_client() -> None:
        connection = await asyncpg.connect(database.admin_url)
        await connection.execute(
            "do $$ begin create role plait_cli_client login in role plait_client;"
            " exception when duplicate_object or unique_violation then null; end $$"
        )
        await connection.close()

    asyncio.run(make_client())
    ran = call("queues", "--url", database.url_for("plait_cli_client"))
    assert ran.code == 1
    assert "Operators need the role plait_admin" in ran.err
    job = plait_on("enqueue", "greet").out.strip()
    shown = call("jobs", "show", job, "--url", database.url_for("plait_cli_client"))
    assert (shown.code, shown.err) == (0, "")


def test_the_version() -> None:
    assert call("--version").out == f"plait {__version__}\n"


def test_help_is_there_for_every_command() -> None:
    commands = [
        [],
        ["run"],
        ["dev"],
        ["worker"],
        ["leader"],
        ["enqueue"],
        ["migrate"],
        ["demo"],
        ["doctor"],
        ["workers"],
    ]
    for group, verbs in {
        "jobs": ["list", "show", "cancel", "retry", "reschedule"],
        "queues": ["list", "pause", "resume", "set"],
        "tenants": ["list", "create", "set", "bind"],
        "definitions": ["list"],
    }.items():
        commands += [[group], *([group, verb] for verb in verbs)]
    for command in commands:
        ran = call(*command, "--help")
        assert ran.code == 0
        assert ran.out.startswith(f"Usage: {' '.join(['plait', *command])}")
        assert "--json" in ran.out


def test_a_shell_can_complete() -> None:
    environment = {**os.environ, "_PLAIT_COMPLETE": "complete_bash", "COMP_WORDS": "plait jo", "COMP_CWORD": "1"}
    assert run(**{k: environment[k] for k in ("_PLAIT_COMPLETE", "COMP_WORDS", "COMP_CWORD")}).out.split() == ["jobs"]
    words = {"_PLAIT_COMPLETE": "complete_bash", "COMP_WORDS": "plait jobs list --status dead", "COMP_CWORD": "4"}
    assert run(**words).out.split() == ["dead_letter"]


def test_help_waits_for_nothing_heavy() -> None:
    heavy = "{'asyncpg', 'pydantic', 'msgspec', 'structlog', 'rich', 'plait.sdk.app', 'plait.store'}"
    text = f"import sys, plait.cli; plait.cli.invoke(['--help']); assert not {heavy} & set(sys.modules), sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, stdout=subprocess.DEVNULL)
