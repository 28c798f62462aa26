"""Built-in handlers that reach other people's servers, and the one way by which they do.

    addresses.py       which addresses are the public internet's
    urls.py            URLs, read strictly and once
    policy.py          what the operator allows: hosts, networks, ports, schemes
    client.py          the only way out: resolve once, check, pin, follow redirects the same way, read within bounds
    secrets.py         `{{secret.NAME}}`, and where each may go
    breaker.py         servers that fail are left alone, by all workers together
    configurations.py  what a tenant sets for its jobs
    exchange.py        all of these for the handlers, and what an answer makes of a job
    http_request.py    connector.http.request
    webhook.py         connector.webhook.deliver; its signatures: signing.py; where it goes: endpoints.py
    report.py          connector.report.generate; its forms: report_forms.py
    registry.py        which of them a worker runs

Whoever may enqueue chooses payloads, so nothing of a payload decides where a request may go: the operator's settings do, and for webhooks
what the tenant's administrators have registered.
"""

from plait.connectors.registry import install

__all__ = ["install"]
