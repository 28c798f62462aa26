"""`connector.webhook.deliver`: signed by Standard Webhooks 1.0.0, and sent to registered endpoints only."""

import hashlib
import hmac
import json
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from plait.connectors.signing import key_of, masters, signed
from plait.model.errors import NotFound, PermanentError
from plait.model.ids import new_id
from plait.runtime.secrets import SecretMissing

from ..harness import Harness
from .conftest import MASTER, ConnectorRunner
from .servers import Reply, Seen, canary, serving

NewRunner = Callable[..., ConnectorRunner]


@pytest.fixture(autouse=True)
def master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", MASTER)


async def endpoint(
    harness: Harness, port: int, label: str = "mine", *, tenant: str = "default", **settings: Any
) -> UUID:
    url = settings.pop("url", f"http://127.0.0.1:{port}/hook")
    return await harness.store.endpoints.set_endpoint(
        label, {"url": url, **settings}, tenant_id=await harness.tenant(tenant)
    )


async def key(harness: Harness, named: UUID, version: int = 1) -> str:
    row = await harness.store.endpoints.get_endpoint(named, all_tenants=True)
    return key_of(MASTER, row.tenant_id, row.id, version)


def verified(seen: Seen, secret: str) -> Any:
    """Verify a delivery as a receiver does, with the library of the standard."""
    return Webhook(secret).verify(seen.body, seen.headers)


DELIVER = "connector.webhook.deliver"


async def test_a_receiver_verifies_what_was_delivered(new_runner: NewRunner, harness: Harness) -> None:
    async with serving() as server:
        mine = await endpoint(harness, server.port)
        runner = new_runner(server.port)
        job = await runner.run(DELIVER, endpoint="mine", type="order.paid", data={"id": 7, "ü": "{{secret.WEBHOOKS}}"})
        assert job.status == "succeeded"
        [seen] = server.seen
        message = verified(seen, await key(harness, mine))
        assert message["type"] == "order.paid"
        assert message["data"] == {"id": 7, "ü": "{{secret.WEBHOOKS}}"}  # data, never a reference
        assert datetime.fromisoformat(message["timestamp"]).tzinfo is not None
        assert (seen.method, seen.headers["content-type"]) == ("POST", "application/json")
        assert seen.headers["webhook-id"] == f"msg_{job.id.hex}"
        assert "traceparent" in seen.headers


async def test_an_endpoint_hears_how_a_job_ended_and_nothing_of_its_own_deliveries(
    new_runner: NewRunner, harness: Harness
) -> None:
    async with serving() as server:
        mine = await endpoint(harness, server.port, statuses=["succeeded", "failed"])
        runner = new_runner(server.port)

        @runner.app.job(retries=0)
        async def work(fails: bool) -> str:
            if fails:
                raise PermanentError("no, by password=hunter2")
            return "done"

        jobs = [await work.options(correlation_id="order 7").enqueue(fails) for fails in (False, True)]
        await runner.kit.run_until_idle()
        messages = [verified(seen, await key(harness, mine)) for seen in server.seen]
        assert sorted((one["type"], one["data"]["job_id"]) for one in messages) == [
            ("job.failed", str(jobs[1].id)),
            ("job.succeeded", str(jobs[0].id)),
        ]
        [failed] = [one["data"] for one in messages if one["type"] == "job.failed"]
        assert (failed["error"], failed["correlation_id"]) == ("no, by password=[redacted]", "order 7")
        assert len({seen.headers["traceparent"].split("-")[1] for seen in server.seen}) == 1


async def test_old_changed_and_foreign_messages_are_refused_as_the_standard_says(
    new_runner: NewRunner, harness: Harness
) -> None:
    """S10."""
    async with serving() as server:
        mine = await endpoint(harness, server.port)
        await new_runner(server.port).run(DELIVER, endpoint="mine", type="t", data=1)
        [seen], secret = server.seen, await key(harness, mine)
        verified(seen, secret)
        changed = Seen(seen.method, seen.target, seen.headers, seen.body + b" ")
        renamed = Seen(seen.method, seen.target, {**seen.headers, "webhook-id": "msg_other"}, seen.body)
        at = datetime.now(UTC) - timedelta(minutes=6)
        old_headers = signed("standard", [secret], "msg_1", at, seen.body.decode())
        for bad in (changed, renamed, Seen("", "", old_headers, seen.body)):
            with pytest.raises(WebhookVerificationError):
                verified(bad, secret)
        for other in (await key(harness, mine, 2), await key(harness, await endpoint(harness, server.port, "other"))):
            with pytest.raises(WebhookVerificationError):
                verified(seen, other)


def test_the_standards_own_vector_is_signed_alike() -> None:
    """From the specification's reference tests; and back: what the library signs is what we sign."""
    secret, message_id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    at, body = datetime.fromtimestamp(1614265330, UTC), '{"test": 2432232314}'
    ours = signed("standard", [secret], message_id, at, body)
    assert ours["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert ours["webhook-timestamp"] == "1614265330"
    for text in ("", "ü→", "x" * 10_000, '{"a": "\\u0000"}'):
        raw = b64decode(secret.removeprefix("whsec_"))
        to_sign = f"{message_id}.1614265330.{text}".encode()
        by_hand = hmac.new(raw, to_sign, hashlib.sha256).digest()
        [version, signature] = signed("standard", [secret], message_id, at, text)["webhook-signature"].split(",")
        assert (version, b64decode(signature)) == ("v1", by_hand)


async def test_a_key_is_exchanged_while_both_are_known(new_runner: NewRunner, harness: Harness) -> None:
    async with serving() as server:
        mine = await endpoint(harness, server.port)
        runner = new_runner(server.port)
        assert await harness.store.endpoints.rotate_endpoint(mine, overlap=timedelta(hours=1)) == 2
        old, new = await key(harness, mine, 1), await key(harness, mine, 2)
        await runner.run(DELIVER, endpoint="mine", type="t")
        assert verified(server.seen[0], old) == verified(server.seen[0], new)
        assert len(server.seen[0].headers["webhook-signature"].split(" ")) == 2
        await harness.advance(hours=1)
        await runner.run(DELIVER, endpoint="mine", type="t")
        verified(server.seen[1], new)
        with pytest.raises(WebhookVerificationError):
            verified(server.seen[1], old)


async def test_the_operators_own_secret_is_exchanged_likewise(
    new_runner: NewRunner, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = "bmV3ZXItbmV3ZXItbmV3ZXItbmV3ZXItbmV3ZXI"
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", f"{newer} {MASTER}")
    async with serving() as server:
        mine = await endpoint(harness, server.port)
        await new_runner(server.port).run(DELIVER, endpoint="mine", type="t")
        verified(server.seen[0], await key(harness, mine))
        row = await harness.store.endpoints.get_endpoint(mine)
        verified(server.seen[0], key_of(newer, row.tenant_id, row.id, 1))
    for weak in ("", "short", f"{newer} short"):
        with pytest.raises(SecretMissing):
            masters(weak)


@pytest.mark.parametrize("form", ["sha256", "sha512"])
async def test_the_older_form_of_a_signature_when_asked(new_runner: NewRunner, harness: Harness, form: str) -> None:
    async with serving() as server:
        mine = await endpoint(harness, server.port, signature=form)
        await harness.store.endpoints.rotate_endpoint(mine)
        await new_runner(server.port).run(DELIVER, endpoint=str(mine), type="t", data=1)
        [seen] = server.seen
        expected = [
            f"{form}=" + hmac.new(b64decode((await key(harness, mine, version))[6:]), seen.body, form).hexdigest()
            for version in (2, 1)
        ]
        assert seen.headers["x-webhook-signature"] == ",".join(expected)
        assert "webhook-signature" not in seen.headers


@pytest.mark.parametrize(
    ("status", "becomes"), [(200, "succeeded"), (204, "succeeded"), (302, "scheduled"), (304, "scheduled"), (400, "failed"), (500, "scheduled"),
                            (429, "scheduled"), (410, "failed")],
)  # fmt: skip
async def test_only_2xx_is_a_success(new_runner: NewRunner, harness: Harness, status: int, becomes: str) -> None:
    """T127."""
    async with (
        canary() as touched,
        serving(Reply(status, headers={"location": f"http://127.0.0.1:{touched.port}/"})) as server,
    ):
        await endpoint(harness, server.port)
        job = await new_runner(server.port, touched.port).run(DELIVER, endpoint="mine", type="t")
        assert (job.status, len(server.seen), touched.connections) == (becomes, 1, 0)


async def test_nobody_there_is_tried_again_with_the_same_message(new_runner: NewRunner, harness: Harness) -> None:
    async with serving() as server:
        port = server.port
    mine = await endpoint(harness, port)
    runner = new_runner(port)
    job = await runner.run(DELIVER, endpoint="mine", type="t", data=[1])
    assert (job.status, (await runner.last(job.id)).reason) == ("scheduled", "request_failed")
    async with serving(lambda _: Reply(500 if len(back.seen) == 1 else 200), port=port) as back:
        await runner.again()
        await runner.again()
        assert await harness.status(job.id) == "succeeded"
        assert len({(seen.headers["webhook-id"], seen.body) for seen in back.seen}) == 1
        verified(back.seen[1], await key(harness, mine))


async def test_gone_disables_the_endpoint_until_somebody_enables_it(new_runner: NewRunner, harness: Harness) -> None:
    async with serving(lambda _: Reply(410 if len(server.seen) == 1 else 200)) as server:
        mine = await endpoint(harness, server.port, statuses=["failed"])
        runner = new_runner(server.port)
        await runner.run(DELIVER, endpoint="mine", type="t")
        row = await harness.store.endpoints.get_endpoint(mine)
        assert (row.enabled, row.disabled_reason, row.subscribed_at) == (False, "it responded 410 Gone", None)
        skipped = await runner.run(DELIVER, endpoint="mine", type="t")
        assert (skipped.status, len(server.seen)) == ("skipped", 1)
        await harness.store.endpoints.set_endpoint("mine", {"enabled": True})
        assert (await runner.run(DELIVER, endpoint="mine", type="t")).status == "succeeded"


async def test_only_the_attempt_that_runs_closes_an_endpoint(harness: Harness) -> None:
    mine, theirs = await endpoint(harness, 1), await endpoint(harness, 1, tenant="b")
    await harness.define(DELIVER)
    job = await harness.enqueue(DELIVER)
    other = await harness.enqueue("add")
    worker = await harness.worker(definitions=[DELIVER, "add"])
    close = harness.store.endpoints.close_endpoint
    assert not await close(mine, job, 1, "x")
    attempts = {lease.job_id: lease.attempt for lease in await worker.claim(10)}
    assert not await close(mine, job, attempts[job] + 1, "x")
    assert not await close(mine, other, attempts[other], "x")
    assert await close(theirs, job, attempts[job], "x")  # it holds its job, and that is another tenant's
    for named in (mine, theirs):
        assert (await harness.store.endpoints.get_endpoint(named, all_tenants=True)).enabled
    assert await close(mine, job, attempts[job], "x")
    assert not (await harness.store.endpoints.get_endpoint(mine)).enabled


async def test_an_endpoint_is_the_tenants_own(new_runner: NewRunner, harness: Harness) -> None:
    async with serving() as server:
        theirs = await endpoint(harness, server.port, tenant="b")
        runner = new_runner(server.port)
        for named in (str(theirs), "mine", str(new_id()), "http://127.0.0.1/"):
            job = await runner.run(DELIVER, endpoint=named, type="t")
            assert (job.status, server.seen) == ("failed", [])
        with pytest.raises(NotFound):
            await harness.store.endpoints.rotate_endpoint(theirs, tenant_id=await harness.tenant())


async def test_a_registered_url_is_checked_when_it_is_used(new_runner: NewRunner, harness: Harness) -> None:
    async with canary() as touched:
        await endpoint(harness, touched.port)
        runner = new_runner(touched.port, connector_networks="")
        job = await runner.run(DELIVER, endpoint="mine", type="t")
        assert (job.status, touched.connections) == ("failed", 0)


async def test_without_the_operators_secret_a_delivery_waits(
    new_runner: NewRunner, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLAIT_SECRET_WEBHOOKS")
    async with serving() as server:
        await endpoint(harness, server.port)
        runner = new_runner(server.port)
        job = await runner.run(DELIVER, endpoint="mine", type="t")
        assert (job.status, server.seen) == ("scheduled", [])
        assert "PLAIT_SECRET_WEBHOOKS" in ((await runner.last(job.id)).error or "")


async def test_no_key_is_in_the_database(new_runner: NewRunner, harness: Harness) -> None:
    async with serving() as server:
        mine = await endpoint(harness, server.port)
        await new_runner(server.port).run(DELIVER, endpoint="mine", type="t")
        stored = str(await harness.rows("select e::text from plait.endpoints e")) + json.dumps(await harness.snapshot())
        assert (await key(harness, mine))[6:] not in stored
        assert MASTER not in stored
