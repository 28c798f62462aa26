"""The verbs of both clients against the real server."""

import asyncio
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from plait_client import AsyncPlait, Conflict, JobFailed, NotFound, NotSignedIn, NotValid, Plait, new_id

from .conftest import ApiServer
from .processes import TYPESCRIPT, environment, node, worker


def _verbs(url: str, key: str) -> str:
    """As clients/typescript/test/verbs.ts has them. The id of the job that is left queued."""
    with Plait(url, key) as plait:
        at = datetime(2100, 1, 1, tzinfo=UTC)
        first = plait.enqueue("double", {"n": 21}, priority=0, correlation_id="c1", scheduled_for=at)
        job = first.get()
        assert (job["status"], job["payload"], job["priority"]) == ("scheduled", {"n": 21}, 0)
        assert (job["correlation_id"], job["scheduled_for"]) == ("c1", "2100-01-01T00:00:00Z")

        held = plait.enqueue("double", {"n": 1}, dedupe_key="d", delay=60)
        again = plait.enqueue("double", {"n": 2}, dedupe_key="d")
        assert (again.id, again.deduplicated, held.deduplicated) == (held.id, True, False)

        keyed = plait.enqueue("double", {"n": 3}, idempotency_key="i")
        assert plait.enqueue("double", {"n": 3}, idempotency_key="i").id == keyed.id
        with pytest.raises(Conflict):
            plait.enqueue("double", {"n": 4}, idempotency_key="i")
        with pytest.raises(NotValid, match="nobody-knows"):
            plait.enqueue("nobody-knows")

        assert [one["id"] for one in plait.list(limit=1, definition_key="double")] == [keyed.id, held.id, first.id]
        assert plait.reschedule(first.id, "2020-01-01T00:00:00Z")["status"] == "queued"
        assert plait.explain(first.id)["reasons"]
        assert plait.summary()["counts"]["queued"] == 2
        assert first.cancel(reason="enough")["status"] == "canceled"
        with pytest.raises(JobFailed, match="canceled"):
            first.result()
        assert first.retry()["status"] == "queued"
        assert plait.attempts(first.id)[0]["status"] == "canceled"
        assert plait.signal(first.id, "go", {"now": True})["id"] == first.id

        event = plait.emit("folder.updated", {"path": "in"})
        assert plait.event(event)["data"] == {"path": "in"}
        assert [one["id"] for one in plait.events(name="folder.updated")] == [event]

        with pytest.raises(NotFound):
            plait.get(new_id())
        with pytest.raises(NotSignedIn), Plait(url, "nobodys") as nobody:
            nobody.get(first.id)
        return first.id


def _node_verbs(url: str, key: str) -> str:
    ran = subprocess.run(
        [node(), TYPESCRIPT / "build/test/verbs.js"],
        env=environment(url, key),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize("verbs", [_verbs, _node_verbs])
async def test_every_verb_does_to_jobs_what_it_says(api_server: ApiServer, verbs: Callable[[str, str], str]) -> None:
    await api_server.harness.define("double")
    left = await asyncio.to_thread(verbs, api_server.url, await api_server.key("operator"))
    assert (
        str(await api_server.harness.sql("select job_id from plait.live where state = 'queued' order by 1 limit 1"))
        == left
    )


async def test_the_async_client_enqueues_and_waits_for_what_a_worker_returns(api_server: ApiServer) -> None:
    await api_server.harness.define("double")
    async with AsyncPlait(api_server.url, await api_server.key("operator")) as plait:
        handles = await asyncio.gather(*(plait.enqueue("double", {"n": n}) for n in range(5)))
        with worker("python", api_server.url, await api_server.key("worker")):
            results: list[Any] = await asyncio.gather(*(one.result(timeout=120) for one in handles))
        assert [one["doubled"] for one in results] == [0, 2, 4, 6, 8]
        assert [one["status"] async for one in plait.list(status=["succeeded"])] == ["succeeded"] * 5
        assert (await plait.summary())["running"] == 0


async def test_an_enqueue_that_is_sent_twice_makes_one_job(api_server: ApiServer) -> None:
    await api_server.harness.define("double")
    with Plait(api_server.url, await api_server.key("operator")) as plait:
        body = {"id": new_id(), "definition_key": "double", "payload": {"n": 1}}
        sent = [await asyncio.to_thread(plait.call, "POST /jobs", body=body) for _ in range(2)]
    assert sent[0]["id"] == sent[1]["id"] == body["id"]
    assert await api_server.harness.sql("select count(*) from plait.jobs") == 1


async def test_a_request_that_is_too_large_is_told_as_such_by_both_clients(api_server: ApiServer) -> None:
    """The server answers before it has read it all: an answer, not a broken pipe."""
    await api_server.harness.define("double")
    key = await api_server.key("operator")
    with Plait(api_server.url, key, retries=0) as plait, pytest.raises(Exception, match="2,097,152 bytes"):
        await asyncio.to_thread(plait.enqueue, "double", {"n": "x" * 8_000_000})
    source = (
        f'const {{ Plait }} = await import("{(TYPESCRIPT / "build/src/index.js").as_uri()}");'
        "await new Plait({ retries: 0 }).enqueue('double', { n: 'x'.repeat(8e6) }).catch((error) => console.log(error.name));"
    )
    command = [node(), "--input-type=module", "--eval", source]
    ran = await asyncio.to_thread(
        subprocess.run, command, env=environment(api_server.url, key), capture_output=True, text=True
    )
    assert ran.stdout.strip() == "TooLarge", ran.stderr
