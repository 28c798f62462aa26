"""`connector.http.request`: the request, the response, and the outcome of the job."""

import json
import re
from collections.abc import Callable

import pytest

from plait.connectors.exchange import policy_of
from plait.connectors.registry import types_in
from plait.connectors.secrets import grants_of
from plait.model.errors import InvalidDefinition
from plait.runtime.settings import Settings

from ..harness import Harness
from .conftest import ConnectorRunner
from .servers import Reply, Seen, answering, canary, serving

NewRunner = Callable[..., ConnectorRunner]


async def test_a_request_is_made_and_its_answer_is_the_result(new_runner: NewRunner) -> None:
    said = Reply(body=b'{"id": 7}', headers={"content-type": "application/json", "x-kind": "a"})
    async with serving(said) as server:
        runner = new_runner(server.port)
        job = await runner.request(
            f"http://127.0.0.1:{server.port}/a",
            method="POST",
            headers={"X-Mine": "1"},
            query={"q": "ä b"},
            json={"b": [1, "ü"]},
            options={"correlation_id": "order 7"},
        )
        assert job.status == "succeeded"
        result = json.loads((await runner.last(job.id)).result or "")
        assert (result["status"], result["json"], result["headers"]["x-kind"]) == (200, {"id": 7}, "a")
        [seen] = server.seen
        assert (seen.method, seen.target, json.loads(seen.body)) == ("POST", "/a?q=%C3%A4+b", {"b": [1, "ü"]})
        assert seen.headers["x-mine"] == "1"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["idempotency-key"] == str(job.id)
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", seen.headers["traceparent"])


async def test_one_correlation_is_one_trace_and_each_try_is_a_span_of_it(new_runner: NewRunner) -> None:
    async with serving(lambda _: Reply(503 if len(server.seen) < 3 else 200)) as server:
        runner = new_runner(server.port)
        options = {"correlation_id": "c"}
        for _ in range(2):
            await runner.request(f"http://127.0.0.1:{server.port}/", options=options)
        await runner.again()
        traces = [seen.headers["traceparent"].split("-") for seen in server.seen]
        assert len(traces) == 4
        assert len({trace for _, trace, _, _ in traces}) == 1
        assert len({span for _, _, span, _ in traces}) == 4


@pytest.mark.parametrize(
    ("status", "becomes"),
    [(200, "succeeded"), (204, "succeeded"), (304, "succeeded"), (400, "failed"), (401, "failed"), (404, "failed"), (422, "failed"),
     (429, "scheduled"), (408, "scheduled"), (500, "scheduled"), (502, "scheduled"), (503, "scheduled")],
)  # fmt: skip
async def test_5xx_and_429_are_tried_again_and_other_4xx_are_for_good(
    new_runner: NewRunner, status: int, becomes: str
) -> None:
    async with serving(Reply(status, body=b"because")) as server:
        runner = new_runner(server.port)
        job = await runner.request(f"http://127.0.0.1:{server.port}/?secret=x")
        last = await runner.last(job.id)
        assert (job.status, len(server.seen)) == (becomes, 1)
        if becomes != "succeeded":
            assert f"responded {status}" in (last.error or "")
            assert "secret=x" not in (last.error or "")
            assert last.traceback is None or becomes == "failed"


@pytest.mark.parametrize(
    ("headers", "waits_s"),
    [
        ({"retry-after": "120"}, 120),
        ({"retry-after": "99999999999"}, 86_400),
        ({"date": "Wed, 21 Oct 2015 07:00:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:05:00 GMT"}, 300),
        ({"date": "Wed, 21 Oct 2015 07:00:00 GMT", "retry-after": "Wed, 21 Oct 2015 06:00:00 GMT"}, 0),
    ],
)
async def test_a_server_says_when_to_come_again(
    new_runner: NewRunner, harness: Harness, headers: dict[str, str], waits_s: float
) -> None:
    async with serving(lambda _: Reply(429, headers=headers) if len(server.seen) == 1 else Reply()) as server:
        runner = new_runner(server.port)
        job = await runner.request(f"http://127.0.0.1:{server.port}/")
        if waits_s:
            assert job.status == "scheduled"
            assert job.run_at is not None
            assert (job.run_at - await harness.now()).total_seconds() == waits_s
            await runner.kit.advance(seconds=waits_s)
            await runner.kit.run_until_idle()
        assert await harness.status(job.id) == "succeeded"


@pytest.mark.parametrize("text", ["soon", "", "-5", "Wed, 99 Oct 2015", "5.5"])
async def test_a_retry_after_that_says_nothing_is_the_usual_wait(
    new_runner: NewRunner, harness: Harness, text: str
) -> None:
    async with serving(Reply(503, headers={"retry-after": text})) as server:
        job = await new_runner(server.port).request(f"http://127.0.0.1:{server.port}/")
        assert job.run_at is not None
        assert 0.8 <= (job.run_at - await harness.now()).total_seconds() <= 1.2


async def test_where_it_may_not_go_the_job_fails_for_good_and_at_once(new_runner: NewRunner) -> None:
    """T122: what is allowed is the worker's, and no payload can change it."""
    async with canary() as touched:
        runner = new_runner(touched.port, connector_networks="", connector_hosts="*.example.com")
        for url in (
            f"http://127.0.0.1:{touched.port}/",
            "https://evilexample.com/",
            "gopher://x",
            "https://a.example.com:22/",
        ):
            job = await runner.request(url, headers={"allow": "*"})
            assert job.status == "failed"
            assert (await runner.last(job.id)).reason == "permanent"
        job = await runner.run("connector.http.request", url="https://a.example.com/", hosts=["*"], allow_hosts=["*"])
        assert job.status == "failed"
        assert touched.connections == 0


async def test_by_default_a_worker_has_no_connectors_and_they_reach_nobody(
    new_runner: NewRunner, harness: Harness
) -> None:
    assert types_in(Settings().connectors) == ()
    with pytest.raises(InvalidDefinition, match="must be a list of http"):
        types_in("http, ftp")
    async with canary() as touched:
        runner = new_runner(touched.port, connector_hosts=Settings().connector_hosts)
        job = await runner.request(f"http://127.0.0.1:{touched.port}/")
        assert "hosts that the operator's settings allow" in ((await runner.last(job.id)).error or "")
        assert touched.connections == 0


async def test_an_answer_is_shortened_and_redacted(new_runner: NewRunner) -> None:
    replies = {
        "/long": Reply(body=b"x" * 100_000),
        "/token": Reply(
            body=b'{"access_token": "abc", "next": {"password": "hunter2"}, "n": 1}',
            headers={"content-type": "application/json", "set-cookie": "sid=1", "x-api-key": "k"},
        ),
        "/binary": Reply(body=b"\0\xff"),
        "/deep": Reply(body=b"[" * 5000 + b"]" * 5000, headers={"content-type": "application/json"}),
        "/number": Reply(body=b"9" * 5000, headers={"content-type": "application/json"}),
        "/escapes": Reply(body=b"\x01" * 262_144),
        "/charset": Reply(body="für".encode("latin-1"), headers={"content-type": "text/plain; charset=ISO-8859-1"}),
        "/nonsense": Reply(body=b"a", headers={"content-type": "text/plain; charset=nonsense"}),
    }
    async with serving(lambda seen: replies[seen.target]) as server:
        runner = new_runner(server.port)
        found = {}
        for path in replies:
            job = await runner.request(
                f"http://127.0.0.1:{server.port}{path}", preview=10_000 if path == "/long" else 262_144
            )
            assert job.status == "succeeded", path
            found[path] = json.loads((await runner.last(job.id)).result or "")
        assert (len(found["/long"]["body"]), found["/long"]["truncated"]) == (10_000, True)
        assert found["/token"]["json"] == {"access_token": "[redacted]", "next": {"password": "[redacted]"}, "n": 1}
        assert found["/token"]["headers"]["set-cookie"] == found["/token"]["headers"]["x-api-key"] == "[redacted]"
        assert found["/binary"]["base64"] == "AP8="
        assert found["/deep"]["body"].startswith("[[[")
        assert found["/number"]["body"] == "9" * 5000
        assert (len(found["/escapes"]["body"]), found["/escapes"]["truncated"]) == (10_000, True)
        assert found["/charset"]["body"] == "für"
        assert found["/nonsense"]["base64"] == "YQ=="


async def test_a_tenants_settings_hold_where_the_payload_says_nothing(new_runner: NewRunner, harness: Harness) -> None:
    settings = {"headers": {"X-Team": "a", "X-Both": "set"}, "preview": 2, "hosts": ["127.0.0.1"]}
    acme = await harness.tenant("acme")
    await harness.store.connectors.set_connector("http", json.dumps(settings), tenant_id=acme)

    def reply(seen: Seen) -> Reply:
        there = f"http://other.example:{server.port}/"
        return Reply(302, headers={"location": there}) if seen.target == "/away" else Reply()

    async with serving(reply) as server:
        runner = new_runner(server.port, resolve=answering(["127.0.0.1"]))
        job = await runner.request(f"http://127.0.0.1:{server.port}/", tenant="acme", headers={"x-both": "given"})
        assert json.loads((await runner.last(job.id)).result or "")["body"] == "ok"
        assert (server.seen[0].headers["x-team"], server.seen[0].headers["x-both"]) == ("a", "given")
        refused = await runner.request(f"http://other.example:{server.port}/", tenant="acme")
        assert "this tenant allows" in ((await runner.last(refused.id)).error or "")
        away = await runner.request(f"http://127.0.0.1:{server.port}/away", tenant="acme")
        assert away.status == "failed"  # a redirect leaves the tenant's hosts no more than a payload does
        elses = await runner.request(f"http://other.example:{server.port}/")
        assert elses.status == "succeeded"
        assert "x-team" not in server.seen[-1].headers


async def test_a_secret_is_put_in_where_the_operator_lets_it_go(
    new_runner: NewRunner, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T123: a reference names a secret of the connectors', and nothing else of the environment."""
    monkeypatch.setenv("PLAIT_SECRET_CRM", 'k"e\\y-of-crm')
    monkeypatch.setenv("OTHER", "not-a-secret-of-ours")
    await harness.tenant("acme")
    async with serving() as server:
        runner = new_runner(
            server.port, connector_secrets="CRM@acme:crm.example, OTHER:crm.example", resolve=answering(["127.0.0.1"])
        )
        url = f"http://crm.example:{server.port}/"
        good = await runner.request(
            url, tenant="acme", method="POST", headers={"Authorization": "Bearer {{secret.CRM}}"}, json={"k": "{{ secret.CRM }}!"}
        )  # fmt: skip
        assert good.status == "succeeded"
        assert server.seen[0].headers["authorization"] == 'Bearer k"e\\y-of-crm'
        assert json.loads(server.seen[0].body) == {"k": 'k"e\\y-of-crm!'}
        for tenant, where in (("default", url), ("acme", f"http://evil.example:{server.port}/")):
            refused = await runner.request(where, tenant=tenant, headers={"x": "{{secret.CRM}}"})
            assert refused.status == "failed"
            assert "may not be sent" in ((await runner.last(refused.id)).error or "")
        missing = await runner.request(url, headers={"x": "{{secret.OTHER}}"})
        assert missing.status == "scheduled"  # the operator may still set it
        literal = await runner.request(url, headers={"x": "{{secret.crm}} {{env.OTHER}} {{secret.}}"})
        assert literal.status == "succeeded"
        assert server.seen[-1].headers["x"] == "{{secret.crm}} {{env.OTHER}} {{secret.}}"
        assert len(server.seen) == 2


async def test_a_redirect_takes_no_secret_to_another_server(
    new_runner: NewRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIT_SECRET_CRM", "key-of-crm")

    def reply(seen: Seen) -> Reply:
        return (
            Reply(307, headers={"location": f"http://evil.example:{server.port}/"})
            if "crm" in seen.headers["host"]
            else Reply()
        )

    async with serving(reply) as server:
        runner = new_runner(server.port, connector_secrets="CRM:crm.example", resolve=answering(["127.0.0.1"]))
        for where in ({"headers": {"X-Key": "{{secret.CRM}}"}}, {"body": "{{secret.CRM}}"}):
            job = await runner.request(f"http://crm.example:{server.port}/", method="POST", **where)
            assert job.status == "failed"
        assert all(seen.headers["host"].startswith("crm") for seen in server.seen)


@pytest.mark.parametrize("text", ["CRM", "crm:x.example", "CRM:", "CRM@:x.example", "CRM:http://x", "../X:x.example"])
def test_a_grant_that_says_nothing_clear_keeps_the_worker_from_starting(text: str) -> None:
    with pytest.raises(InvalidDefinition):
        grants_of(text)


@pytest.mark.parametrize(
    "settings",
    [
        {"connector_schemes": "ftp"},
        {"connector_ports": "x"},
        {"connector_networks": "example.com"},
        {"connector_deny": "a b"},
    ],
)
def test_a_setting_that_can_not_be_read_keeps_the_worker_from_starting(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidDefinition, match="PLAIT_CONNECTOR_"):
        policy_of(Settings(**settings), "*")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ['{"timeout": "x"}', '{"nonsense": 1}', '{"timeout": 1e9}', '{"hosts": ["a b"]}', '{"headers": {"Cookie": "a=b"}}'],
)
async def test_settings_that_came_in_by_sql_and_are_not_valid_fail_the_job(
    new_runner: NewRunner, harness: Harness, text: str
) -> None:
    await harness.store.connectors.set_connector("http", text)
    async with serving() as server:
        runner = new_runner(server.port)
        job = await runner.request(f"http://127.0.0.1:{server.port}/")
        assert (job.status, server.seen) == ("failed", [])
        assert "are not valid" in ((await runner.last(job.id)).error or "")
