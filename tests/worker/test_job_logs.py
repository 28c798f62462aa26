"""Text that handlers print or log is stored with their attempt."""

import asyncio
import contextvars
import io
import logging
import sys
import threading
from collections.abc import Iterator
from uuid import UUID

import pytest
import structlog

from plait import Backoff, JobFailed, Plait, current
from plait.model.errors import DatabaseUnreachable
from plait.model.redaction import HIDDEN
from plait.runtime.logging import configure
from plait.runtime.settings import Settings
from plait.store.logs import LogRow
from plait.testing import TestDatabase
from plait.worker import attempt_log
from tests.worker import isolated

from .conftest import Running


async def stored(app: Plait, job_id: UUID) -> list[LogRow]:
    return await (await app.store()).logs.list_logs(job_id)


def texts(rows: list[LogRow]) -> list[str]:
    return [row.message for row in rows]


@pytest.fixture
def formatted(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """plait's own log format, as the command line configures it."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    before, level = structlog.get_config(), logging.getLogger().level
    configure(form="json")
    yield written
    structlog.configure(**before)
    logging.getLogger().setLevel(level)


async def test_text_that_a_handler_prints_and_logs_is_stored_with_its_attempt(app: Plait, running: Running) -> None:
    @app.job(retries=1, backoff=Backoff(base=0.01))
    async def talks() -> None:
        print("printed")
        print("complained", file=sys.stderr)
        logging.getLogger("library").warning("by %s", "logging", extra={"order": 7})
        print("no newline", end="")
        if current().attempt == 1:
            raise ValueError("once more")

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    rows = await stored(app, handle.id)
    expected = [
        ("info", "stdout", None, "printed", None),
        ("info", "stderr", None, "complained", None),
        ("warning", "log", "library", "by logging", '{"order":7}'),
        ("info", "stdout", None, "no newline", None),
    ]
    assert [(r.attempt, r.level, r.source, r.logger, r.message, r.fields) for r in rows] == [
        (attempt, *line) for attempt in (1, 2) for line in expected
    ]
    assert [row.line for row in rows] == [1, 2, 3, 4] * 2


async def test_structlog_and_the_jobs_own_logger_are_stored_once_with_their_fields(
    app: Plait, running: Running, formatted: io.StringIO
) -> None:
    @app.job
    async def talks() -> None:
        current().logger.info("own", order=7)
        structlog.get_logger().warning("structlog", order=8)
        logging.getLogger("library").info("logging")
        try:
            int("x")
        except ValueError:
            logging.getLogger("library").exception("traceback")

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    own, structured, logged, failed = await stored(app, handle.id)
    assert (own.level, own.logger, own.message, own.fields) == ("info", "job", "own", '{"order":7}')
    assert (structured.level, structured.message, structured.fields) == ("warning", "structlog", '{"order":8}')
    assert (logged.level, logged.logger, logged.message, logged.fields) == ("info", "library", "logging", None)
    assert failed.level == "error"
    assert failed.message.startswith("traceback\nTraceback (most recent call last)")
    for text in ("own", "structlog", "logging", "traceback"):  # printed as before
        assert formatted.getvalue().count(f'"event": "{text}"') == 1


async def test_a_log_handler_of_the_application_does_not_store_a_line_twice(app: Plait, running: Running) -> None:
    @app.job
    async def talks() -> None:
        for propagate in (True, False):
            logger = logging.getLogger(f"own.{propagate}")
            logger.propagate = propagate
            handler = logging.StreamHandler(sys.stderr)
            logger.addHandler(handler)
            logger.error("propagates: %s", propagate)
            logger.removeHandler(handler)

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    rows = await stored(app, handle.id)
    assert [(row.level, row.logger, row.message) for row in rows] == [
        ("error", "own.True", "propagates: True"),
        ("error", "own.False", "propagates: False"),
    ]


async def test_python_still_prints_warnings_if_nobody_has_configured_logging(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any handler Python prints warnings to stderr. The capture adds a handler, and must not silence them."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stderr", printed)

    @app.job
    async def talks() -> None:
        logging.getLogger("library").warning("careful")

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    assert printed.getvalue().count("careful\n") == 1
    assert texts(await stored(app, handle.id)) == ["careful"]


async def test_concurrent_handlers_and_their_threads_have_separate_logs(app: Plait, running: Running) -> None:
    both = asyncio.Barrier(2)

    @app.job
    async def in_tasks(name: str) -> None:
        await both.wait()
        print(name, "handler")
        await both.wait()
        await asyncio.to_thread(print, name, "to_thread")
        await asyncio.create_task(in_task(name))

    async def in_task(name: str) -> None:
        print(name, "task")

    @app.job
    def in_thread(name: str) -> None:
        print(name, "def")
        contextvars.copy_context().run(print, name, "context")
        thread = threading.Thread(target=print, args=("of no job",))
        thread.start()
        thread.join()

    async with running(app):
        handles = {name: await in_tasks.enqueue(name=name) for name in ("a", "b")}
        other = await in_thread.enqueue(name="c")
        for handle in (*handles.values(), other):
            await handle.result(timeout=120)
    for name, handle in handles.items():
        assert texts(await stored(app, handle.id)) == [f"{name} handler", f"{name} to_thread", f"{name} task"]
    assert texts(await stored(app, other.id)) == ["c def", "c context"]


async def test_a_handler_in_its_own_process_is_heard_as_well(app: Plait, running: Running) -> None:
    isolated.app.target = app.target
    async with running(isolated.app):
        handle = await isolated.talk.enqueue(lines=3)
        await handle.result(timeout=120)
    await isolated.app.close()
    rows = await stored(app, handle.id)
    assert [(row.source, row.message) for row in rows] == [
        *(("stdout", f"line {n}") for n in range(3)),
        ("log", "logged"),
        ("stdout", "end"),
    ]


async def test_a_full_log_of_a_process_counts_each_dropped_line_once(app: Plait, running: Running) -> None:
    isolated.app.target = app.target
    async with running(isolated.app):
        handle = await isolated.talk.enqueue(lines=attempt_log.MAX_LINES + 5)
        await handle.result(timeout=120)
    await isolated.app.close()
    last = texts(await stored(app, handle.id))
    assert last[-3] == f"line {attempt_log.MAX_LINES - 1}"
    assert last[-1] == "7 lines were dropped: the log is full"


async def test_secrets_and_escape_sequences_are_not_stored(app: Plait, running: Running) -> None:
    @app.job
    async def talks() -> None:
        print("\x1b[31mred\x1b[0m nul \0 postgres://app:canary@db/x")
        print("-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----")
        logging.getLogger("library").warning("with a field", extra={"api_key": "canary", "kept": object})
        print("10%\r20%\r100%")

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    rows = await stored(app, handle.id)
    assert "canary" not in str(rows)
    assert texts(rows)[0] == f"red nul \N{SYMBOL FOR NULL} postgres://{HIDDEN}@db/x"
    assert f'"api_key":"{HIDDEN}"' in (rows[-2].fields or "")
    assert texts(rows)[-1] == "100%"


async def test_a_full_log_says_how_many_lines_were_dropped(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempt_log, "MAX_LINES", 3)

    @app.job
    async def talks() -> None:
        for n in range(10):
            print(n)

    @app.job
    async def long_line() -> None:
        print("a" + "x" * 100_000 + "z")

    async with running(app):
        handle, other = await talks.enqueue(), await long_line.enqueue()
        await handle.result(timeout=120)
        await other.result(timeout=120)
    rows = await stored(app, handle.id)
    assert texts(rows) == [
        "0",
        "1",
        "2",
        "the log of this attempt is full (3 lines, 1,000,000 characters): later lines are dropped",
        "7 lines were dropped: the log is full",
    ]
    assert [row.source for row in rows[-2:]] == ["plait", "plait"]
    [message] = texts(await stored(app, other.id))
    assert len(message) < 8_192
    assert message[0] + message[-1] == "az"


async def test_an_unavailable_database_neither_delays_a_handler_nor_grows_the_memory(
    app: Plait, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines wait in memory up to a limit; later ones are dropped and counted."""
    monkeypatch.setattr("plait.worker.job_logs.MAX_WAITING", 30)
    store = await app.store()
    write, available, tried = store.logs.write, asyncio.Event(), asyncio.Event()

    async def refuse(lines: object, **more: object) -> object:
        tried.set()
        if not available.is_set():
            raise DatabaseUnreachable
        return await write(lines, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(store.logs, "write", refuse)

    @app.job
    async def talks() -> None:
        for n in range(10):
            print(f"line {n}..")
        await tried.wait()
        available.set()

    async with running(app):
        handle = await talks.enqueue()
        await handle.result(timeout=120)
    assert texts(await stored(app, handle.id)) == [
        *(f"line {n}.." for n in range(3)),
        "7 lines were dropped: the worker could not store them fast enough",
    ]


async def test_job_logs_can_be_switched_off_or_begin_at_a_level(
    real_clock_database: TestDatabase, running: Running
) -> None:
    for level, expected in (("off", []), ("error", ["error"])):
        app = Plait(real_clock_database.url, settings=Settings(poll=0.2, job_logs=level))

        @app.job(retries=0)
        async def talks() -> None:
            print("printed")
            logging.getLogger("library").warning("warning")
            logging.getLogger("library").error("error")
            raise ValueError

        before = sys.stdout
        async with running(app):
            handle = await talks.enqueue()
            with pytest.raises(JobFailed):
                await handle.result(timeout=120)
        assert sys.stdout is before
        assert texts(await stored(app, handle.id)) == expected
        await app.close()
