"""`plait triggers` and `plait events`."""

import asyncio
from pathlib import Path

from plait.leader.dispatch import Dispatch
from plait.leader.fire import Fire
from plait.store import Store
from plait.testing import FakeClock, TestDatabase

from .cli_runner import call
from .conftest import RunPlait, WriteApp


def lead(database: TestDatabase, *, minutes: float = 0) -> None:
    """Advance the clock, and run a leader's duties."""

    async def look() -> None:
        await FakeClock(database.admin_url).advance(minutes=minutes)
        store = await Store.open(database.url)
        await Fire().run(store)
        await Dispatch().run(store)
        await store.close()

    asyncio.run(look())


def test_a_schedule_is_added_paused_and_deleted(plait_on: RunPlait, database: TestDatabase) -> None:
    added = plait_on(
        "triggers", "add", "nightly", "sync", "--cron", "0 2 * * *", "--time-zone", "America/New_York",
        "--payload", '{"path": "/", "at": "{{schedule.instant}}"}', "--catch-up", "1h", "--overlap", "skip", "-q", "nights",
    )  # fmt: skip
    assert added.out.startswith("trigger nightly added: sync 0 2 * * * America/New_York (")
    lead(database)
    [row] = plait_on("triggers", "list", "--json").json
    assert (row["catch_up"], row["catch_up_window_s"], row["overlap"], row["queue"]) == (
        "window",
        3600,
        "skip",
        "nights",
    )
    assert (row["next_at"], row["payload"]["path"]) == ("2030-01-02T07:00:00Z", "/")
    assert plait_on("triggers", "add", "nightly", "sync", "--every", "1h").code == 1
    assert "paused" in plait_on("triggers", "pause", "nightly").out
    assert "paused" in plait_on("triggers").out
    assert plait_on("triggers", "resume", row["id"], "--json").json["enabled"] is True
    assert plait_on("triggers", "set", "nightly", "--every", "10m").code == 0
    lead(database, minutes=0)
    lead(database, minutes=10)
    [fire] = plait_on("triggers", "fires", "nightly", "--json").json
    assert (fire["instant"], fire["outcome"]) == ("2030-01-01T12:10:00Z", "enqueued")
    shown = plait_on("jobs", "show", fire["job_id"])
    assert f"schedule {row['id']}" in shown.out
    assert "enqueued" in plait_on("triggers", "fires", "nightly").out
    assert plait_on("triggers", "delete", "nightly").code == 0
    assert plait_on("triggers", "--json").json == []
    assert plait_on("triggers", "delete", "nightly").code == 1


def test_a_preview_shows_what_the_clocks_do(plait_on: RunPlait) -> None:
    plait_on("triggers", "add", "t", "sync", "--cron", "30 2 * * *", "--time-zone", "America/New_York")
    ran = plait_on("triggers", "preview", "t", "--after", "2030-03-09T12:00Z", "-n", "2")
    assert "2030-03-10T07:00:00Z  Sun 2030-03-10 03:00:00 EDT  clocks go forward" in ran.out
    assert plait_on("triggers", "preview", "--cron", "0 9 * * *", "-n", "1", "--json").json == [
        {"instant": "2030-01-02T09:00:00Z", "local": "2030-01-02T09:00:00Z", "note": None}
    ]
    assert plait_on("triggers", "preview").code == 2


def test_a_trigger_is_tried_without_its_schedule_taking_notice(plait_on: RunPlait, database: TestDatabase) -> None:
    """T86."""
    plait_on("triggers", "add", "t", "sync", "--every", "10m", "--payload", '{"at": "{{schedule.instant}}"}')
    tried = plait_on("triggers", "test", "t", "--run", "--json").json
    assert tried["payload"] == {"at": "2030-01-01T12:00:00+00:00"}
    [job] = plait_on("jobs", "list", "--json").json
    assert (job["id"], job["source"]) == (tried["job_id"], "manual")
    lead(database)
    lead(database, minutes=10)
    assert len(plait_on("triggers", "fires", "t", "--json").json) == 1
    plait_on("triggers", "add", "e", "sync", "--event", "x", "--payload", '{"a": "{{event.a.b}}"}')
    assert plait_on("triggers", "test", "e", "--data", '{"a": {"b": 5}}', "--json").json["payload"] == {"a": 5}
    wrong = plait_on("triggers", "test", "e", "--data", "{}")
    assert (wrong.code, "there is no 'a' in event" in wrong.err) == (1, True)


def test_an_event_is_sent_and_shown_with_what_became_of_it(plait_on: RunPlait, database: TestDatabase) -> None:
    plait_on("triggers", "add", "good", "thank", "--event", "order.paid", "--payload", '{"order": "{{event.id}}"}')
    plait_on("triggers", "add", "bad", "thank", "--event", "order.paid", "--payload", '{"order": "{{event.nothing}}"}')
    event = plait_on("events", "send", "order.paid", "id=17", "--correlation-id", "c").out.strip()
    assert "not yet" in plait_on("events", "show", event).out
    lead(database)
    shown = plait_on("events", "show", event, "--json").json
    assert (shown["jobs"], shown["data"]) == (1, {"id": 17})
    assert {fire["label"]: fire["outcome"] for fire in shown["fires"]} == {"good": "enqueued", "bad": "refused"}
    [job] = plait_on("jobs", "list", "--correlation-id", "c", "--json").json
    assert (job["payload"], job["source"], job["source_ref"]) == ({"order": 17}, "event", event)
    text = plait_on("events", "show", event).out
    assert "there is no 'nothing' in event" in text
    assert [row["id"] for row in plait_on("events", "list", "--failed", "--json").json] == [event]
    assert "order.paid" in plait_on("events").out


def test_what_is_wrong_is_said_before_anything_is_stored(plait_on: RunPlait) -> None:
    for options in (
        [],
        ["--cron", "* * * *"],
        ["--cron", "* * * * *", "--every", "1m"],
        ["--every", "soon"],
        ["--every", "1m", "--time-zone", "Mars/Base"],
        ["--every", "1m", "--payload", "[1]"],
        ["--every", "1m", "--catch-up", "some"],
        ["--every", "1m", "--overlap", "some"],
    ):
        assert plait_on("triggers", "add", "t", "sync", *options).code in (1, 2), options
    assert plait_on("events", "send", "a b").code == 1
    assert plait_on("triggers", "--json").json == []


def test_a_definition_gets_a_schema_and_is_put_out_of_use(
    plait_on: RunPlait, database: TestDatabase, tmp_path: Path
) -> None:
    """S13: a schema that refers to a file is rejected when it is set."""

    async def define() -> None:
        store = await Store.open(database.url)
        await store.definitions.define([{"name": "sync"}])
        await store.close()

    asyncio.run(define())
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["path"]}')
    assert plait_on("definitions", "set", "sync", "--schema", schema, "--json").json["schema"]["required"] == ["path"]
    refused = plait_on("triggers", "add", "t", "sync", "--event", "x")
    assert (refused.code, '"path" is a required property' in refused.err) == (1, True)
    plait_on("triggers", "add", "t", "sync", "--event", "x", "--payload", '{"path": "{{event.path}}"}')
    assert "path" in plait_on("triggers", "test", "t").err
    schema.write_text('{"$ref": "file:///etc/passwd"}')
    assert plait_on("definitions", "set", "sync", "--schema", schema).code == 1
    assert plait_on("definitions", "set", "sync", "--schema", tmp_path / "missing").code == 2
    assert plait_on("definitions", "set", "sync", "--schema", "none", "--deactivate").code == 0
    assert plait_on("triggers", "add", "t2", "sync", "--event", "x").code == 1
    assert plait_on("definitions", "set", "nothing", "--activate").code == 1
    assert plait_on("definitions", "set", "sync").code == 2


def test_what_an_apps_workers_may_start_is_shown(write_app: WriteApp) -> None:
    app = write_app(
        """
        from plait import Plait
        app = Plait()
        app.command("ls", "/bin/ls", ["--", "{{payload.path}}"], schema={"type": "object"}, env=["HOME"])
        """,
        name="allowed.py",
    )
    [one] = call("commands", app, "--json").json
    assert (one["key"], one["executable"], one["argv"]) == ("ls", "/bin/ls", ["--", "{{payload.path}}"])
    assert "/bin/ls" in call("commands", app, "--schemas").out
