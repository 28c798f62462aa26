"""Commands: the worker decides what runs, arguments are validated, and no process is left behind."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from plait import Plait
from plait.model.commands import Command
from plait.model.errors import InvalidArguments, InvalidDefinition, InvalidSchema, JobFailed
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.testing import Kit, TestDatabase
from plait.worker.worker import Worker

from ..cli.cli_runner import call

TEXT = {"type": "object", "properties": {"x": {}, "y": {"type": "string"}}}


@pytest.fixture
def app(database: TestDatabase) -> Plait:
    return Plait(database.url, settings=Settings(poll=0.05))


@pytest.fixture
async def kit(app: Plait, database: TestDatabase) -> AsyncIterator[Kit]:
    kit = Kit(app, database)
    kit.enter()
    yield kit
    await kit.exit()


async def test_a_command_runs_with_its_arguments_and_a_clean_environment(
    app: Plait, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    monkeypatch.setenv("SEEN", "yes")
    show = "import os, sys; print(sys.argv[1:]); print(sorted(os.environ)); print('oh', file=sys.stderr)"
    job = app.command(
        "show", sys.executable, ["-c", show, "--path={{payload.y}}", ["--x", "{{payload.x}}"], "{{job.attempt}}"],
        schema=TEXT, env=["SEEN", "ABSENT"],
    )  # fmt: skip
    handle = await job.enqueue(y="a b; rm -rf / $(x)")
    other = await job.enqueue(y="", x=5)
    await kit.run_until_idle()
    result = await handle.result(timeout=120)
    arguments, environment = result["stdout"].splitlines()
    assert arguments == "['--path=a b; rm -rf / $(x)', '1']"
    assert "SECRET" not in environment
    assert "SEEN" in environment
    assert "PLAIT_JOB_ID" in environment
    assert (result["exit_code"], result["stderr"]) == (0, "oh\n")
    assert (await other.result(timeout=120))["stdout"].startswith("['--path=', '--x', '5', '1']")


async def plain() -> None: ...


async def test_an_exit_code_is_kept_with_the_attempt_and_tails_with_it(app: Plait, kit: Kit) -> None:
    code = "import sys; print('out'); print('why', file=sys.stderr); sys.exit(3)"
    job = app.command("fails", sys.executable, ["-c", code], retries=0)
    handle = await job.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="the command exited with code 3: why"):
        await handle.result(timeout=120)
    [attempt] = await (await app.store()).jobs.list_attempts(handle.id)
    assert (attempt.exit_code, attempt.reason, attempt.traceback) == (3, "exit_code", None)
    assert attempt.progress == '{"stdout":"out\\n","stderr":"why\\n"}'
    shown = await asyncio.to_thread(call, "--url", kit.database.url, "jobs", "show", handle.id)
    assert "stdout\n  out\n\nstderr\n  why\n" in shown.out
    assert "exit" in shown.out
    missing = app.command("missing", "/nowhere/program", retries=0)
    handle = await missing.enqueue()
    await kit.run_until_idle()
    with pytest.raises(JobFailed, match="the command cannot be started"):
        await handle.result(timeout=120)
    works = await app.command("works", "/bin/true").enqueue()
    alone = await app.job(plain).enqueue()
    await kit.run_until_idle()
    [attempt] = await (await app.store()).jobs.list_attempts(works.id)
    assert (attempt.status, attempt.exit_code) == ("succeeded", 0)
    [attempt] = await (await app.store()).jobs.list_attempts(alone.id)
    assert (attempt.status, attempt.exit_code) == ("succeeded", None)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("-x", "would be parsed as an option"),
        ("--config=/etc/passwd", "would be parsed as an option"),
        ("a\0b", "NUL"),
        ("x" * 200_000, "at most"),
        (["a"], "text, a number or a boolean"),
        ({"a": 1}, "text, a number or a boolean"),
        (None, "is missing"),
    ],
)
async def test_an_argument_that_is_none_is_refused_before_anything_is_started(
    app: Plait, kit: Kit, tmp_path: Path, value: Any, error: str
) -> None:
    """T124, S11: at the enqueue, and again before the start for what came in by SQL."""
    started = tmp_path / "started"
    job = app.command("touch", "/usr/bin/touch", [str(started), "{{payload.x}}"], schema=TEXT, retries=0)
    with pytest.raises(InvalidArguments, match=error):
        await job.enqueue(x=value)
    if isinstance(value, str) and len(value) < 1000:
        from plait.sdk.codec import encode

        store = await app.store()
        text = encode({"x": value}, what="x").replace("\\\\u0000", "\\u0000")
        job_id = await store.database.fetchval("select plait.enqueue('touch', $1::json)", text)
        await kit.run_until_idle()
        assert (await store.jobs.get_job(job_id)).reason == "bad_payload"
    assert not started.exists()


def test_after_two_dashes_a_value_is_a_value() -> None:
    command = Command(key="k", executable="/bin/x", argv=("--", "{{payload.x}}", "--y={{payload.x}}"))
    assert command.arguments({"payload": {"x": "-rf"}}) == ["/bin/x", "--", "-rf", "--y=-rf"]
    assert command.arguments({"payload": {"x": "a\nb"}}) == ["/bin/x", "--", "a\nb", "--y=a\nb"]
    assert command.arguments({"payload": {"x": "{{job.id}}"}})[2] == "{{job.id}}"


def test_a_command_is_checked_where_it_is_written(app: Plait, tmp_path: Path) -> None:
    with pytest.raises(InvalidDefinition, match="absolute"):
        app.command("a", "sh", ["-c", "x"])
    with pytest.raises(InvalidDefinition, match="list"):
        app.command("b", "/bin/sh", "-c x")
    with pytest.raises(InvalidSchema):
        app.command("c", "/bin/sh", schema={"$ref": "file:///etc/passwd"})
    file = tmp_path / "commands.toml"
    file.write_text(
        '[ls]\nexecutable = "/bin/ls"\nargv = ["--", "{{payload.x}}"]\nschema = { type = "object" }\ntimeout = "1m"\n'
    )
    [job] = app.commands_from(file)
    assert (job.definition.name, job.definition.timeout_s) == ("ls", 60)
    for text in ("[a]\nargv = []", "[a]\nexecutable = '/x'\nshell = true", "nonsense"):
        file.write_text(text)
        with pytest.raises(InvalidDefinition):
            app.commands_from(file)


async def test_the_database_never_learns_what_is_started(app: Plait, kit: Kit) -> None:
    app.command("c", "/bin/echo", ["canary-argv"], schema=TEXT, description="says it")
    await kit.run_until_idle()
    store = await app.store()
    [row] = await store.definitions.list_definitions()
    assert (row.kind, row.description) == ("command", "says it")
    assert row.schema is not None
    assert "canary" not in str(row)
    assert "/bin/echo" not in str(row)


async def test_what_it_says_is_seen_while_it_runs(app: Plait, kit: Kit, tmp_path: Path) -> None:
    code = "import sys, time, pathlib; print('at work', flush=True)\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.02)"
    job = app.command("talks", sys.executable, ["-c", code, str(tmp_path / "end")])
    handle = await job.enqueue()
    stop = Stop()
    working = asyncio.ensure_future(Worker(app).run(stop))
    store = await app.store()
    while "at work" not in ((await store.jobs.get_job(handle.id)).progress or ""):
        await asyncio.sleep(0.02)  # sleep: until it is asked to end
    (tmp_path / "end").touch()
    assert (await handle.result(timeout=120))["stdout"] == "at work\n"
    stop.request()
    await working


async def test_a_flood_of_output_is_read_to_its_end_and_only_its_tail_kept(app: Plait, kit: Kit) -> None:
    code = "import sys; sys.stdout.write('x' * 3_000_000 + 'end')"
    handle = await app.command("flood", sys.executable, ["-c", code]).enqueue()
    await kit.run_until_idle()
    said = (await handle.result(timeout=120))["stdout"]
    assert said.endswith("xend")
    assert len(said) <= 65_600
