"""S18: a secret of the environment is in no table, log line, response or report, whatever handlers do with it."""

import io
import json
import sys
from collections.abc import Callable, Iterator

import pytest
import structlog

from plait.connectors import install
from plait.model import redaction
from plait.runtime import logging as logs
from plait.runtime.secrets import SecretMissing, learn_environment, read_secret
from plait.runtime.settings import Settings
from plait.testing import Kit

from ..api.api_client import ApiClient
from ..harness import Harness
from . import canary_jobs
from .conftest import MASTER, ConnectorRunner
from .servers import Reply, Seen, serving

NewRunner = Callable[..., ConnectorRunner]
SECRET = 'Can"ary\\-7f3e/9b+21c0=ü'
FORMS = [SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1], "7f3e/9b+21c0"]
"""As it is, as JSON has it, and the part of it that no form changes."""


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PLAIT_SECRET_CANARY", SECRET)
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", MASTER)
    learn_environment()
    return SECRET


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """All that is logged, as JSON."""
    lines = io.StringIO()
    monkeypatch.setattr(sys, "stderr", lines)
    logs.configure(level="debug", form="json")
    yield lines
    structlog.reset_defaults()


async def everything(harness: Harness) -> str:
    """Every row of every table, as text."""
    tables = await harness.rows(
        "select relname from pg_class where relnamespace = 'plait'::regnamespace and relkind in ('r', 'p', 'm')"
    )
    rows = [await harness.rows(f"select t::text from plait.{name} t") for (name,) in tables]
    return "\n".join(row[0] for found in rows for row in found)


def assert_absent(text: str, where: str) -> None:
    found = [form for form in FORMS if form in text]
    assert not found, f"{where}: {text[max(0, text.find(found[0]) - 200) : text.find(found[0]) + 100]}"


async def test_what_handlers_do_with_a_secret_is_written_nowhere(
    harness: Harness, secret: str, log: io.StringIO
) -> None:
    app = canary_jobs.app
    kit = Kit(app, harness.database)
    kit.enter()
    try:
        for how in canary_jobs.HOWS:
            await canary_jobs.leak.enqueue(how)
        for how in ("error", "result"):
            await canary_jobs.leak_in_process.enqueue(how)
        await canary_jobs.leak_in_thread.enqueue()
        await kit.run_until_idle()
        await kit.advance(minutes=1)
        await kit.run_until_idle()
    finally:
        await kit.exit()
    text = await everything(harness)
    assert text.count(redaction.HIDDEN) >= 12
    assert_absent(text, "a table")
    lines = log.getvalue().splitlines()
    assert len(lines) > 10
    for line in lines:
        assert isinstance(json.loads(line), dict)  # S19: one object a line
    assert_absent(log.getvalue(), "the log")
    async with ApiClient.over(harness) as api:
        admin = await api.acting("admin")
        jobs = await admin.ok("GET", "/jobs", params={"limit": 1000})
        assert_absent(json.dumps(jobs, ensure_ascii=False), "the API")
        for job in jobs["items"]:
            for path in ("", "/attempts", "/explain"):
                assert_absent((await admin.get(f"/jobs/{job['id']}{path}")).text, path)


async def test_what_connectors_send_and_get_back_is_written_nowhere(
    new_runner: NewRunner, harness: Harness, secret: str, log: io.StringIO
) -> None:
    def reflect(seen: Seen) -> Reply:
        """It returns everything that it received, in every part of a response."""
        got = seen.headers.get("x-key", "none").encode("latin-1")
        status = int(seen.target.split("?")[0][1:])
        return Reply(
            status, body=got + b" " + seen.body, headers={"x-got": got.decode("latin-1"), "content-type": "text/plain"}
        )

    async with serving(reflect) as server:
        runner = new_runner(server.port, connector_secrets="CANARY:127.0.0.1")
        for status in (200, 400, 503):
            await runner.request(
                f"http://127.0.0.1:{server.port}/{status}",
                method="POST",
                headers={"X-Key": "{{secret.CANARY}}"},
                json={"key": "{{secret.CANARY}}", "deep": ["{{secret.CANARY}}"]},
            )
        await runner.request(f"http://127.0.0.1:{server.port}/200", headers={"X-Bad\n": "{{secret.CANARY}}"})
        await runner.request(f"http://10.0.0.1:{server.port}/200", headers={"X": "{{secret.CANARY}}"})
        assert len(server.seen) == 3
        assert json.loads(server.seen[0].body)["key"] == secret
        await harness.store.endpoints.set_endpoint(
            "mine", {"url": f"http://127.0.0.1:{server.port}/400", "statuses": ["failed", "succeeded"]}
        )
        await runner.run("connector.webhook.deliver", endpoint="mine", type="t")
        reports = []
        for format_ in ("json", "html", "csv"):
            job = await runner.run("connector.report.generate", report="jobs", format=format_)
            reports.append((await runner.last(job.id)).result or "")
        text = await everything(harness)
        assert redaction.HIDDEN in text
        for where, said in (("a table", text), ("the log", log.getvalue()), *(("a report", one) for one in reports)):
            assert_absent(said, where)
            assert MASTER not in said


async def test_a_commands_output_is_redacted(
    harness: Harness, secret: str, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plait import Plait

    app = Plait(harness.database.url, settings=Settings(poll=0.05, listen=False))
    show = "import os, sys; s = os.environ['PLAIT_SECRET_CANARY']; print(s); print('x' * 65500 + s, file=sys.stderr); sys.exit(3)"
    app.command("show", sys.executable, ["-c", show], env=["PLAIT_SECRET_CANARY"], retries=0)
    kit = Kit(app, harness.database)
    job = await harness.enqueue("show", max_attempts=1)
    await kit.run_until_idle()
    await app.close()
    assert await harness.status(job) == "dead_letter"
    assert_absent(await everything(harness), "a table")
    assert_absent(log.getvalue(), "the log")
    assert redaction.HIDDEN in await everything(harness)


def test_a_secret_has_a_name_and_is_nothing_else(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """T123."""
    from pathlib import Path

    directory = Path(str(tmp_path))
    (directory / "FILE").write_text("from a file\n")
    monkeypatch.setenv("PLAIT_SECRET_ENV", "from the environment")
    monkeypatch.setenv("PLAIT_SECRET_FILE", "not this one")
    assert read_secret("FILE", directory) == "from a file"
    assert read_secret("ENV", directory) == "from the environment"
    assert read_secret("FILE") == "not this one"
    for name in ("HOME", "PATH", "../FILE", "file", "", "FILE\n", "A/B", ".", "ENV\0"):
        with pytest.raises(SecretMissing):
            read_secret(name, directory)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefgh", "Authorization: [redacted]"),
        ("GET /?api_key=12345&x=1", "GET /?api_key=[redacted]&x=1"),
        ('{"accessToken": "a b", "token_count": 5}', '{"accessToken": "[redacted]", "token_count": 5}'),
        ("postgresql://me:pw@host/db", "postgresql://[redacted]@host/db"),
        ("a ghp_0123456789012345678901234567890123456 b", "a [redacted] b"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "[redacted]"),
        (
            "ExpiredToken: it ended; the secret is out; compass=north",
            "ExpiredToken: it ended; the secret is out; compass=north",
        ),
        ("Set-Cookie: sid=1; HttpOnly", "Set-Cookie: [redacted]"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert redaction.hide(text) == shown
    assert redaction.hide(shown) == shown


@pytest.mark.parametrize("name", ["password", "X-Api-Key", "accessToken", "Set-Cookie", "db_password", "client.secret"])
def test_names_of_secrets(name: str) -> None:
    assert redaction.names_secret(name)
    assert redaction.hide_in({name: "x", "n": [{name: 1}]}) == {name: "[redacted]", "n": [{name: "[redacted]"}]}


def test_connectors_are_installed_once() -> None:
    from plait import Plait

    app = Plait(settings=Settings(connectors="all"))
    assert [job.definition.name for job in install(app)] == [job.definition.name for job in install(app)]
    assert len(app.definitions) == 3
