"""Connectors run with a worker's login only."""

import pytest

from plait import Plait
from plait.connectors import install
from plait.runtime.service import Stop
from plait.runtime.settings import Settings
from plait.store import Store
from plait.worker.worker import Worker

from ..access.logins import Logins
from ..harness import Harness
from .conftest import MASTER
from .servers import Reply, Seen, serving


async def test_a_workers_own_login_is_enough(own_harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness, logins = own_harness, Logins(own_harness.database)
    login = await logins.create("plait_worker")
    url = harness.database.url_for(login)
    monkeypatch.setenv("PLAIT_SECRET_WEBHOOKS", MASTER)
    monkeypatch.setenv("PLAIT_SECRET_CRM", "key-of-crm")
    acme = await harness.tenant("acme")

    def reply(seen: Seen) -> Reply:
        return Reply({"/gone": 410, "/broken": 500}.get(seen.target, 200))

    async with serving(reply) as server:
        here = f"http://127.0.0.1:{server.port}"
        settings = Settings(
            poll=0.05,
            listen=False,
            connector_hosts="*",
            connector_networks="127.0.0.0/8",
            connector_schemes="http",
            connector_ports=str(server.port),
            connector_secrets="CRM@acme:127.0.0.1",
        )
        app = Plait(url, settings=settings)
        install(app, "http", "webhook", "report")
        for label in ("fine", "gone", "broken"):
            await harness.store.endpoints.set_endpoint(
                label, {"url": f"{here}/{label}", "statuses": ["failed", "succeeded"]}, tenant_id=acme
            )
        jobs = {
            "request": await harness.enqueue(
                "connector.http.request", tenant="acme", payload={"url": here, "headers": {"x-key": "{{secret.CRM}}"}}
            ),
            **{
                label: await harness.enqueue(
                    "connector.webhook.deliver", tenant="acme", payload={"endpoint": label, "type": "t"}
                )
                for label in ("fine", "gone", "broken")
            },
            **{
                report: await harness.enqueue(
                    "connector.report.generate", tenant="acme", payload={"report": report, "format": "html"}
                )
                for report in ("jobs", "usage")
            },
        }
        jobs["workflow"] = await harness.enqueue(
            "connector.report.generate", tenant="acme", payload={"report": "workflow", "job_id": str(jobs["jobs"])}
        )
        await Worker(app, once=True).run(Stop())
        await app.close()
        store = await Store.open(url)
        assert (await store.leader.announce())[0] > 0
        await store.close()
    ended = {name: await harness.status(job) for name, job in jobs.items()}
    assert ended == {
        "request": "succeeded", "fine": "succeeded", "gone": "failed", "broken": "scheduled", "jobs": "succeeded", "usage": "succeeded",
        "workflow": "succeeded",
    }  # fmt: skip
    assert not (await harness.store.endpoints.get_endpoint("gone", tenant_id=acme)).enabled
    await logins.drop()
