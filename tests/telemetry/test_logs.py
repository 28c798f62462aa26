"""Logs: one JSON object per line, with its tenant and job, and without secrets (S18, S19)."""

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from plait import JobFailed, Plait, current
from plait.runtime.logging import configure, get_logger

from ..worker.conftest import Running

SECRET = "canary-7f3a91c2d4"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """The JSON logs of this process."""
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setenv("PLAIT_SECRET_TEST", SECRET)
    before = structlog.get_config()
    level = logging.getLogger().level
    configure(form="json")
    yield written
    structlog.configure(**before)
    logging.getLogger().setLevel(level)


def read(lines: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.getvalue().splitlines()]


ABOUT = {"job_id", "tenant_id", "definition", "attempt", "worker_id", "trace_id"}


async def test_whatever_a_handler_logs_says_which_attempt_it_is_of(
    app: Plait, running: Running, lines: io.StringIO
) -> None:
    @app.job
    async def talks() -> str:
        current().logger.info("by its own")
        structlog.get_logger().info("by structlog's")
        logging.getLogger("library").warning("by %s", "Python's")
        return current().trace_id

    @app.job
    def talks_in_a_thread() -> None:
        logging.getLogger("library").error("from a thread")

    @app.job(retries=0)
    async def fails() -> None:
        raise ValueError("it broke")

    async with running(app) as worker:
        handle = await talks.enqueue()
        trace_id = await handle.result(timeout=120)
        await (await talks_in_a_thread.enqueue()).result(timeout=120)
        with pytest.raises(JobFailed):
            await (await fails.enqueue()).result(timeout=120)
        worker_id = worker.id
    told = {line["event"]: line for line in read(lines)}
    for event in ("by its own", "by structlog's", "by Python's"):
        line = told[event]
        assert set(line) >= ABOUT, event
        assert line["job_id"] == str(handle.id)
        assert line["worker_id"] == worker_id
        assert line["trace_id"] == trace_id
        assert line["definition"] == "talks"
        assert line["attempt"] == 1
    assert told["from a thread"]["definition"] == "talks_in_a_thread"
    assert set(told["attempt failed"]) >= ABOUT
    assert "job_id" not in told["worker started"]


def test_secrets_are_hidden_whoever_logs_them(lines: io.StringIO) -> None:
    log = get_logger("test")
    log.info("a name", password=SECRET, nested={"Authorization": f"Bearer {SECRET}"}, items=[{"api_key": SECRET}])
    log.info(SECRET, text=f"postgresql://app:{SECRET}@db/app", error=ValueError(SECRET))
    logging.getLogger("library").warning("Cookie: session=%s", SECRET)
    logging.getLogger("library").warning("deep", extra={"about": {"x": ValueError(SECRET)}})
    try:
        int(f"token {SECRET}")
    except ValueError:
        log.exception("with a traceback")
        logging.getLogger("library").exception("with one too")
    assert SECRET not in lines.getvalue()
    assert len(read(lines)) == 6
    assert "ValueError" in lines.getvalue()


def test_a_line_cannot_be_broken_out_of(lines: io.StringIO) -> None:
    log = get_logger("test")
    log.info('a\nb\r{"event": "forged"}\x1b[31m', value="\u2028 \ud800 \x00 x")
    logging.getLogger("library").warning("a\nb")
    text = lines.getvalue()
    assert text.count("\n") == 2
    assert "\x1b" not in text
    assert all(line["event"] != "forged" for line in read(lines))


def test_an_application_that_has_chosen_how_its_lines_look_keeps_that(monkeypatch: pytest.MonkeyPatch) -> None:
    own = logging.StreamHandler(io.StringIO())
    monkeypatch.setattr(logging.getLogger(), "handlers", [own])
    before = structlog.get_config()
    configure(form="json")
    structlog.configure(**before)
    assert logging.getLogger().handlers == [own]


def test_the_root_logger_of_python_follows_the_level(lines: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest has set its own since
    monkeypatch.setattr(sys, "stderr", lines)
    for level, expected in (("warning", []), ("info", ["info"]), ("debug", ["debug", "info"])):
        lines.truncate(0)
        lines.seek(0)
        configure(form="json", level=level)
        logging.getLogger("library").debug("debug")
        logging.getLogger("library").info("info")
        assert [line["event"] for line in read(lines)] == expected
