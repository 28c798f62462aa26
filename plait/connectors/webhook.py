"""`connector.webhook.deliver`: deliver a signed message to an endpoint that the tenant has registered. The payload names the endpoint, never a URL, so
callers that enqueue cannot choose where the message is sent."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from plait.connectors.client import Request
from plait.connectors.endpoints import keys_of
from plait.connectors.exchange import Exchange
from plait.connectors.signing import signed
from plait.model.errors import NotFound, PermanentError, RequestFailed, Skip
from plait.model.redaction import hide
from plait.sdk.context import Current, current
from plait.store.endpoints import EndpointRow

NAME: Final = "connector.webhook.deliver"
PREVIEW: Final = 1_000


def handler(exchange: Exchange) -> Callable[..., Any]:
    async def deliver(
        endpoint: str,
        type: str,  # noqa: A002 - named as in the message
        data: Any = None,
        timestamp: str | None = None,
    ) -> dict[str, Any]:
        """Deliver a message. 2xx is a success, 410 disables the endpoint, other 4xx except 408, 425 and 429 fail the job, and all other responses are
        retried."""
        job = current()
        row = await _endpoint(exchange, endpoint, job)
        if not row.enabled:
            raise Skip(f"endpoint {row.label} is disabled: {row.disabled_reason}")
        set_ = await exchange.configurations.webhook(await exchange.store(), job.tenant_id)
        message = {"type": type, "timestamp": timestamp or _asked_at(job), "data": data}
        body = msgspec.json.encode(message).decode()
        keys = [key for _, key in keys_of(row, exchange.settings)]
        now = datetime.now(UTC)  # clock: the receiver compares it with its own clock
        headers = {
            **{name.lower(): value for name, value in set_.headers.items()},
            "content-type": "application/json",
            **signed(row.signature, keys, f"msg_{job.job_id.hex}", now, body),
        }
        answer = await exchange.send(
            exchange.webhooks,
            Request(
                url=row.url,
                method="POST",
                headers=headers,
                body=body,
                body_is="data",
                timeout_s=set_.timeout,
                most=PREVIEW,
            ),
            job,
        )
        told = f"{answer.url} responded {answer.status}"
        if answer.status == 410:
            store = await exchange.store()
            await store.endpoints.close_endpoint(row.id, job.job_id, job.attempt, "it responded 410 Gone")
            raise PermanentError(f"{told}: the endpoint is disabled")
        if 400 <= answer.status < 500:
            raise PermanentError(f"{told}: {hide(answer.body.decode(errors='replace'))}")
        if not 200 <= answer.status < 300:  # T127: no other status is a success, not even a redirect
            raise RequestFailed(told)
        return {"status": answer.status, "endpoint": str(row.id), "message_id": f"msg_{job.job_id.hex}"}

    return deliver


async def _endpoint(exchange: Exchange, named: str, job: Current) -> EndpointRow:
    store = await exchange.store()
    try:
        wanted: str | UUID = UUID(named)
    except ValueError:
        wanted = named
    try:
        return await store.endpoints.get_endpoint(wanted, tenant_id=job.tenant_id)
    except NotFound as error:
        raise PermanentError(str(error)) from None


def _asked_at(job: Current) -> str:
    """When the job was enqueued, from its id. It is the same in every attempt, so the message does not change either."""
    return datetime.fromtimestamp((job.job_id.int >> 80) / 1000, UTC).isoformat()
