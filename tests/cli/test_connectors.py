"""`plait endpoints`, `plait connectors`, and workers that run connectors."""

from pathlib import Path

import pytest
from standardwebhooks import Webhook

from .conftest import RunPlait, WriteApp


@pytest.fixture(autouse=True)
def master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", "for-tests-for-tests-for-tests-for-tests")


def test_an_endpoint_is_added_changed_tried_and_deleted(plait_on: RunPlait) -> None:
    added = plait_on("endpoints", "add", "orders", "https://hooks.example.com/x", "--on", "failed,dead_letter")
    assert added.out.startswith("endpoint orders added: https://hooks.example.com/x, statuses failed, dead_letter (")
    assert plait_on("endpoints", "add", "orders", "https://hooks.example.com/y").code == 1
    [row] = plait_on("endpoints", "--json").json
    assert (row["label"], row["statuses"], row["enabled"]) == ("orders", ["failed", "dead_letter"], True)
    assert plait_on("endpoints", "set", "orders", "--on", "all", "--definitions", "a,b").code == 0
    assert plait_on("endpoints", "set", row["id"], "--definitions", "any", "--json").json["definitions"] is None
    assert plait_on("endpoints", "set", "orders").code == 2
    assert plait_on("endpoints", "set", "orders", "--on", "running").code == 2
    assert "disabled" in plait_on("endpoints", "disable", "orders").out
    assert "by hand" in plait_on("endpoints").out
    assert plait_on("endpoints", "enable", "orders").code == 0
    sent = plait_on("endpoints", "test", "orders", "--json").json
    assert plait_on("jobs", "show", sent["id"], "--json").json["definition"] == "connector.webhook.deliver"
    assert plait_on("endpoints", "delete", "orders").code == 0
    assert plait_on("endpoints", "delete", "orders").code == 1
    assert plait_on("endpoints", "--json").json == []


def test_keys_are_shown_and_exchanged(plait_on: RunPlait, monkeypatch: pytest.MonkeyPatch) -> None:
    plait_on("endpoints", "add", "orders", "https://hooks.example.com/x")
    [first] = plait_on("endpoints", "keys", "orders", "--json").json
    assert (first["version"], first["key"][:6]) == (1, "whsec_")
    Webhook(first["key"])
    rotated = plait_on("endpoints", "rotate", "orders", "--overlap", "1h", "--json").json
    assert [one["version"] for one in rotated] == [2, 1]
    assert rotated[1]["key"] == first["key"]
    monkeypatch.delenv("PLAIT_SECRET_WEBHOOKS")
    missing = plait_on("endpoints", "keys", "orders")
    assert (missing.code, "PLAIT_SECRET_WEBHOOKS" in missing.err) == (1, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://u:p@hooks.example.com/",
        "https://x.example:22/",
        "x",
    ],
)
def test_an_endpoint_that_could_not_be_delivered_to_is_refused(plait_on: RunPlait, url: str) -> None:
    assert plait_on("endpoints", "add", "bad", url).code == 1
    assert plait_on("endpoints", "--json").json == []


def test_settings_of_a_connector(plait_on: RunPlait) -> None:
    assert (
        plait_on("connectors", "set", "http", '{"timeout": 10, "headers": {"Authorization": "{{secret.X}}"}}').code == 0
    )
    [row] = plait_on("connectors", "--json").json
    assert (row["type"], row["settings"]["timeout"]) == ("http", 10)
    for bad in (
        '{"timeout": 0}',
        '{"nonsense": 1}',
        '{"headers": {"Authorization": "Bearer abc"}}',
        '{"hosts": ["a b"]}',
    ):
        assert plait_on("connectors", "set", "http", bad).code == 1
    assert plait_on("connectors", "set", "ftp", "{}").code == 1
    assert plait_on("connectors", "unset", "http").code == 0
    assert plait_on("connectors", "--json").json == []


def test_a_worker_runs_the_connectors_that_it_is_told_to(
    plait_on: RunPlait, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app: Path = write_app("from plait import Plait\napp = Plait()\n")
    for arguments in ([], ["--connectors", "report"]):
        assert plait_on("worker", str(app), "--once", *arguments).code == 0
    names = [row["name"] for row in plait_on("definitions", "--json").json]
    assert names == ["connector.report.generate"]
    assert plait_on("worker", str(app), "--once", "--connectors", "ftp").code == 1
    monkeypatch.setenv("PLAIT_CONNECTORS", "all")
    app = write_app("from plait import Plait\napp = Plait()\n", "settings_say_so.py")
    asked = plait_on("enqueue", str(app), "connector.report.generate", "report=usage", "--json").json
    assert plait_on("worker", str(app), "--once").code == 0
    shown = plait_on("jobs", "show", asked["id"], "--json").json
    assert shown["status"] == "succeeded"
    rows = plait_on("definitions", "--json").json
    assert [row["kind"] for row in rows] == ["connector"] * 3
    assert any("Retry-After" in row["description"] for row in rows)
