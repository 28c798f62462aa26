"""Limits on the memory and time that a response may cost the worker."""

import random
import threading
from typing import Any

import pytest

from plait.connectors import http_request, report
from plait.connectors.client import Answer
from plait.connectors.http_request import shown
from plait.connectors.report_forms import Report
from plait.model import redaction
from plait.model.redaction import HIDDEN, WINDOW, hide

from .conftest import ConnectorRunner
from .servers import Reply, serving
from .test_http_request import NewRunner


def answer(body: bytes, kind: str) -> Answer:
    return Answer(status=200, url="http://a/", headers=[("content-type", kind)], body=body, truncated=False)


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "rot13", "zlib", "hex", "x" * 99]
)
def test_a_charset_that_no_server_needs_is_not_decoded(charset: str) -> None:
    """punycode takes time that is quadratic in the length; utf-7 and escapes are read in Python."""
    found = shown(answer(b"abc-", f"text/plain; charset={charset}"))
    assert ("body" in found, found["base64"]) == (False, "YWJjLQ==")


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("utf-8", "grüße".encode()),
        ('"UTF8"', "grüße".encode()),
        ("ISO-8859-1", "grüße".encode("latin-1")),
        ("latin1", "grüße".encode("latin-1")),
        ("windows-1252; boundary=x", "grüße".encode("cp1252")),
        ("ISO-8859-15", "grüße".encode("iso8859-15")),
        ("utf-16", "grüße".encode("utf-16")),
    ],
)
def test_usual_charsets_are_decoded(charset: str, body: bytes) -> None:
    assert shown(answer(body, f"text/plain; charset={charset}"))["body"] == "grüße"


async def test_a_large_answer_is_redacted_in_a_thread(new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def watched(text: str) -> str:
        if len(text) > 10_000:
            threads.append(threading.get_ident())
        return hide(text)

    monkeypatch.setattr(http_request, "hide", watched)
    async with serving(Reply(body=b"token " * 30_000, headers={"content-type": "text/plain"})) as server:
        runner: ConnectorRunner = new_runner(server.port)
        job = await runner.request(f"http://127.0.0.1:{server.port}/", preview=200_000)
    assert job.status == "succeeded"
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("form", ["json", "html", "csv"])
async def test_reports_are_written_in_a_thread(
    new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    threads: list[int] = []
    written = getattr(report, f"as_{form}")

    def watched(made: Report) -> Any:
        threads.append(threading.get_ident())
        return written(made)

    monkeypatch.setattr(report, f"as_{form}", watched)
    job = await new_runner().run("connector.report.generate", report="jobs", format=form)
    assert job.status == "succeeded"
    assert threads
    assert threading.get_ident() not in threads


def test_a_long_line_is_searched_in_windows_and_loses_the_same_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    secrets = [
        "password=hunter22",
        "Authorization: Bearer abcdefgh12345",
        "eyJ" + "a" * 4000 + "." + "b" * 4000 + "." + "c" * 4000,
    ]
    line = "".join(chance.choice([*secrets, "x" * chance.randrange(5000), " word "]) + " " for _ in range(200))
    forms = redaction._FORMS
    whole = forms.sub(redaction._kept, line)
    searched: list[int] = []

    class Watched:
        def search(self, text: str, start: int, end: int) -> object:
            searched.append(end - start)
            return forms.search(text, start, end)

    monkeypatch.setattr(redaction, "_FORMS", Watched())
    assert len(line) > 4 * WINDOW
    assert hide(line) == whole
    assert "hunter22" not in whole
    assert HIDDEN in whole
    assert max(searched) <= WINDOW
