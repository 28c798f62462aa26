"""Connectors: built-in handlers that send requests to other servers, and the HTTP client that they share.

    addresses.py       decides whether an IP address is public
    urls.py            URLs, parsed strictly and once
    policy.py          the network policy of the operator: hosts, networks, ports, schemes
    client.py          the HTTP client: resolves a name once, checks and pins the address, repeats this for redirects, limits responses
    secrets.py         `{{secret.NAME}}`, and the hosts that each secret may be sent to
    breaker.py         the circuit breaker, shared by all workers
    configurations.py  a tenant's defaults for its jobs
    exchange.py        combines all of these for the handlers, and determines a job's outcome from the response
    http_request.py    connector.http.request
    webhook.py         connector.webhook.deliver; signatures: signing.py; endpoints: endpoints.py
    report.py          connector.report.generate; formats: report_forms.py
    registry.py        the connectors that a worker runs

Anyone who may enqueue jobs chooses their payloads, so a payload never determines which servers are allowed. The operator's settings
determine that and, for webhooks, the endpoints that the tenant's admins have registered.
"""

from plait.connectors.registry import install

__all__ = ["install"]
