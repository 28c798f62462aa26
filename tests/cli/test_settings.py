"""Queues, tenants, definitions, workers, migrations and the doctor."""

import asyncio

import asyncpg

from plait.testing import TestDatabase

from .cli_runner import call
from .conftest import RunPlait


def test_a_queue_is_paused_and_resumed(plait_on: RunPlait) -> None:
    plait_on("enqueue", "tidy")
    assert plait_on("queues", "pause", "default").out == "queue default: paused\n"
    assert plait_on("queues", "--json").json[0]["paused"] is True
    assert "paused" in plait_on("queues", "list").out
    assert plait_on("queues", "resume", "default").out == "queue default: open\n"
    assert plait_on("queues", "pause", "typo").out == "queue typo: paused (nothing uses it yet)\n"


def test_a_queue_is_limited_and_unlimited(plait_on: RunPlait) -> None:
    told = plait_on("queues", "set", "mail", "--max-running", "5", "--rate", "10/1m", "--json").json
    assert (told["max_running"], told["rate_count"], told["rate_period_s"]) == (5, 10, 60)
    assert plait_on("queues", "set", "mail", "--rate", "none").out == "queue mail: open, at most 5 running\n"
    assert plait_on("queues", "set", "mail").code == 2
    assert plait_on("queues", "set", "mail", "--rate", "fast").code == 2
    assert plait_on("queues", "set", "no such name", "--max-running", "1").code == 1
    assert plait_on("queues", "set", "mail", "--mode", "serial").out == "queue mail: open, at most 5 running, serial\n"
    assert plait_on("queues", "--json").json[-1]["mode"] == "serial"
    assert "serial" in plait_on("queues").out
    assert plait_on("queues", "set", "mail", "--mode", "parallel").out == "queue mail: open, at most 5 running\n"
    assert plait_on("queues", "set", "mail", "--mode", "sideways").code == 2


def test_a_tenant_is_created_once_and_changed(plait_on: RunPlait) -> None:
    made = plait_on("tenants", "create", "acme", "--name", "Acme", "--time-zone", "Europe/Berlin", "--json").json
    assert (made["slug"], made["name"], made["time_zone"]) == ("acme", "Acme", "Europe/Berlin")
    again = plait_on("tenants", "create", "acme")
    assert again.code == 1
    assert "already" in again.err
    told = plait_on("tenants", "set", "acme", "--pause", "--weight", "3", "--max-queued", "9", "--json").json
    assert (told["paused"], told["weight"], told["max_queued"], told["name"]) == (True, 3, 9, "Acme")
    assert plait_on("tenants", "set", "acme", "--resume", "--max-queued", "none", "--json").json["max_queued"] is None
    assert plait_on("tenants", "set", "acme", "--max-triggers", "0", "--json").json["max_triggers"] == 0
    refused = plait_on("triggers", "add", "t", "add", "--every", "1h", "--tenant", "acme")
    assert (refused.code, refused.err) == (1, "plait: quota exceeded: this tenant may have at most 0 triggers\n")
    assert plait_on("tenants", "set", "acme", "--max-triggers", "none", "--json").json["max_triggers"] is None
    assert "Europe/Berlin" in plait_on("tenants").out


def test_a_tenant_has_ages_of_its_own(plait_on: RunPlait) -> None:
    made = plait_on("tenants", "create", "acme", "--keep", "failed=30d", "--keep", "succeeded=forever", "--json").json
    assert made["retention"] == {"failed": 30 * 86_400, "succeeded": None}
    assert plait_on("tenants", "set", "acme", "--keep", "default", "--json").json["retention"] == {}
    assert plait_on("tenants", "set", "acme", "--keep", "queued=1d").code == 2
    assert plait_on("tenants", "set", "acme", "--keep", "failed").code == 2
    assert plait_on("tenants", "set", "acme", "--keep", "failed=soon").code == 2


def test_a_tenant_that_is_not_there_is_not_made_by_a_typing_error(plait_on: RunPlait) -> None:
    assert plait_on("tenants", "set", "acmee", "--pause").code == 1
    assert [row["slug"] for row in plait_on("tenants", "list", "--json").json] == ["default"]
    assert plait_on("tenants", "set", "default").code == 2
    assert plait_on("tenants", "create", "Not A Slug").code == 1
    assert plait_on("tenants", "create", "moon", "--time-zone", "Moon/Base").code == 1


def test_a_login_is_bound_to_its_tenant(plait_on: RunPlait, database: TestDatabase) -> None:
    login = "plait_cli_bound"

    async def make_login() -> None:
        connection = await asyncpg.connect(database.admin_url)
        await connection.execute(
            f"do $$ begin create role {login} login in role plait_tenant;"
            " exception when duplicate_object or unique_violation then null; end $$"
        )
        await connection.close()

    asyncio.run(make_login())
    plait_on("tenants", "create", "acme")
    assert plait_on("tenants", "bind", login, "acme").out == f"{login} is bound to acme\n"
    job = plait_on("enqueue", "tidy", "--tenant", "acme").out.strip()
    plait_on("enqueue", "tidy")
    listed = call("jobs", "list", "--json", "--url", database.url_for(login))
    assert [row["id"] for row in listed.json] == [job]
    assert call("jobs", "show", job, "--url", database.url_for(login)).code == 0
    assert plait_on("tenants", "bind", login, "--unbind").out == f"{login} is not bound to a tenant\n"
    assert plait_on("tenants", "bind", login).code == 2
    assert plait_on("tenants", "bind", "nobody_at_all", "acme").code == 1


def test_empty_lists_say_what_to_do(plait_on: RunPlait) -> None:
    for command in ("workers", "definitions", "queues"):
        ran = plait_on(command)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err
        assert plait_on(command, "--json").json == []


def test_migrate_plans_installs_and_has_nothing_left(empty_database: TestDatabase) -> None:
    def migrate(*options: str) -> str:
        ran = call("migrate", "--url", empty_database.admin_url, *options)
        assert ran.code == 0, ran.err
        return ran.out

    assert migrate("--plan").startswith("would install schema")
    assert migrate("--plan").startswith("would install schema")
    assert migrate().startswith("installed schema")
    assert "up to date" in migrate()
    assert '"applied": true' in migrate("--json")


def test_after_a_restore_one_command_makes_it_ready(plait_on: RunPlait) -> None:
    assert plait_on("after-restore").out.startswith("ready: 0 workers removed, 0 jobs requeued, ")
    assert plait_on("after-restore", "--until", "2020-01-01T00:00Z", "--json").json["jobs"] == 0
    assert plait_on("after-restore", "--until", "yesterday").code == 2
    assert plait_on("after-restore", "--until", "2999-01-01T00:00Z").code == 1


def test_migrate_lets_an_application_in(empty_database: TestDatabase) -> None:
    login = "plait_cli_application"

    async def make_login() -> None:
        connection = await asyncpg.connect(empty_database.admin_url)
        await connection.execute(
            f"do $$ begin create role {login} login; exception when duplicate_object or unique_violation then null; end $$"
        )
        await connection.close()

    asyncio.run(make_login())
    ran = call("migrate", "--url", empty_database.admin_url, "--grant-client", login)
    assert ran.out.endswith(f"granted plait_client to {login}\n")
    assert call("enqueue", "tidy", "--url", empty_database.url_for(login)).code == 0


def test_a_plain_login_may_not_migrate(empty_database: TestDatabase, database: TestDatabase) -> None:
    ran = call("migrate", "--url", empty_database.url_for("plait_dev"))
    assert ran.code == 1
    assert "has no permission to migrate" in ran.err


def test_the_doctor_is_content_with_an_idle_database(plait_on: RunPlait) -> None:
    ran = plait_on("doctor")
    assert ran.code == 0
    assert "No problems found." in ran.out
    told = plait_on("doctor", "--json").json
    assert (told["ok"], told["findings"]) == (True, [])
    assert set(told["facts"]) == {"plait", "database", "postgres", "pooler", "schema"}


def test_the_doctor_finds_what_hurts(plait_on: RunPlait) -> None:
    plait_on("enqueue", "tidy", "--queue", "nowhere")
    ran = plait_on("doctor")
    assert ran.code == 1
    assert "no live worker serves it" in ran.out
    assert "no_worker" in [finding["code"] for finding in plait_on("doctor", "--json").json["findings"]]


def test_the_doctor_names_an_unsafe_role_and_a_missing_schema(
    database: TestDatabase, empty_database: TestDatabase
) -> None:
    unsafe = call("doctor", "--url", database.admin_url, "--json")
    assert (unsafe.code, [finding["code"] for finding in unsafe.json["findings"]]) == (1, ["unsafe_role"])
    missing = call("doctor", "--url", empty_database.admin_url, "--json")
    assert (missing.code, [finding["code"] for finding in missing.json["findings"]]) == (3, ["old_schema"])


def test_an_operator_with_a_superusers_url_acts_as_the_login_for_development(database: TestDatabase) -> None:
    assert call("queues", "--url", database.admin_url).code == 0


def test_common_options_stand_anywhere(database: TestDatabase) -> None:
    assert call("--json", "tenants", "--url", database.url).json
    assert call("tenants", "--url", database.url, "list", "--json").json
    assert call("--url", "postgresql://nowhere.invalid/", "tenants", "list", "--json", "--url", database.url).json
