"""Connectors: built-in handlers that send requests to other servers, and the one HTTP client that they use.

    addresses.py       which IP addresses are public
    urls.py            URLs, parsed strictly and once
    policy.py          the network policy of the operator: hosts, networks, ports, schemes
    client.py          the HTTP client: resolves a name once, checks and pins the address, does the same for redirects, limits responses
    secrets.py         `{{secret.NAME}}`, and the hosts that each may be sent to
    breaker.py         the circuit breaker, shared by all workers
    configurations.py  a tenant's defaults for its jobs
    exchange.py        combines all of these for the handlers, and determines a job's outcome from the response
    http_request.py    connector.http.request
    webhook.py         connector.webhook.deliver; signatures: signing.py; endpoints: endpoints.py
    report.py          connector.report.generate; formats: report_forms.py
    registry.py        the connectors that a worker runs

Everyone who may enqueue chooses payloads, so a payload never determines where a request may be sent. The operator's settings do and, for
webhooks, the endpoints that the tenant's administrators have registered.
"""

from plait.connectors.registry import install

__all__ = ["install"]
