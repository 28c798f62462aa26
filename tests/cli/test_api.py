"""`plait api` and `plait keys`."""

import re
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from plait.testing import TestDatabase

from ..waiting import PATIENCE_S
from .cli_runner import call, run, started, wait_for_line
from .conftest import RunPlait


def test_a_key_is_shown_once_and_revoked(plait_on: RunPlait) -> None:
    made = plait_on("keys", "create", "ci", "--role", "viewer", "--expires", "90d")
    assert made.out.startswith("plait_")
    [key] = plait_on("keys", "--json").json
    assert (key["name"], key["role"], key["revoked_at"]) == ("ci", "viewer", None)
    assert made.out.strip() not in plait_on("keys", "list").out
    assert plait_on("keys", "revoke", key["id"]).out == f"key {key['id']} revoked\n"
    assert plait_on("keys", "--json").json[0]["revoked_at"] is not None
    assert plait_on("keys", "revoke", "00000000-0000-7000-8000-000000000001").code == 1


def test_a_key_for_all_tenants_names_none(plait_on: RunPlait) -> None:
    plait_on("tenants", "create", "acme")
    assert plait_on("keys", "create", "k", "--role", "super-admin", "--tenant", "acme").code == 2
    assert plait_on("keys", "create", "k", "--tenant", "nobody").code == 1
    assert plait_on("keys", "create", "k", "--role", "boss").code == 2
    assert plait_on("keys", "create", "k", "--tenant", "acme").code == 0
    assert len(plait_on("keys", "list", "--tenant", "acme", "--json").json) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_api_serves_until_a_signal_comes(
    real_clock_database: TestDatabase, number: signal.Signals, code: int
) -> None:
    key = call("keys", "create", "k", "--url", real_clock_database.url).out.strip()
    with started("api", "--url", real_clock_database.url, "--port", "0") as process:
        url = _url(wait_for_line(process, "api listening"))
        assert httpx.get(f"{url}/healthz", timeout=PATIENCE_S).json() == {"status": "ok"}
        assert (
            httpx.get(f"{url}/api/v1/jobs", headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S).json()[
                "items"
            ]
            == []
        )
        assert httpx.get(f"{url}/api/v1/jobs", timeout=PATIENCE_S).status_code == 401
        process.send_signal(number)
        assert process.wait(120) == code


def test_a_port_that_is_taken_is_told(real_clock_database: TestDatabase) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = run("api", "--url", real_clock_database.url, "--port", str(taken.getsockname()[1]))
        assert ran.code == 1
        assert "cannot listen on 127.0.0.1" in ran.err


def test_dev_prints_a_link_that_signs_in_once(real_clock_database: TestDatabase, shop: Path) -> None:
    with started("dev", shop, "--url", real_clock_database.url, "--port", "0") as process:
        link = wait_for_line(process, "sign in").split()[2]
        wait_for_line(process, "api listening")
        with httpx.Client(timeout=PATIENCE_S) as browser:
            assert browser.get(link).status_code == 303
            who = browser.get(link.replace("/session/link", "/session").partition("?")[0])
            assert who.json()["role"] == "super-admin"
            assert browser.get(link).status_code == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 143
    [key] = call("keys", "list", "--url", real_clock_database.url, "--json").json
    assert key["name"] == "plait dev"
    assert key["revoked_at"] is not None  # it is revoked when the process that created it exits


def test_revoking_a_key_lists_the_keys_that_were_made_with_it(real_clock_database: TestDatabase) -> None:
    def keys(*arguments: str) -> Any:
        return call("keys", *arguments, "--url", real_clock_database.url)

    parent = keys("create", "parent", "--json").json["id"]
    child = keys("create", "child", "--json").json["id"]
    with psycopg.connect(real_clock_database.admin_url) as admin:
        admin.execute("update plait.keys set parent_id = %s where id = %s", (parent, child))
    told = keys("revoke", parent)
    assert f"key {child} child (operator), which was created with this key: still valid" in told.out
    assert "--descendants" in told.err
    assert (
        f"key {child} child (operator), which was created with this key: revoked"
        in keys("revoke", parent, "--descendants").out
    )
    assert all(key["revoked_at"] for key in keys("list", "--json").json)


def _url(line: str) -> str:
    found = re.search(r"http://[\w.:]+", line)
    assert found is not None, line
    return found[0]
