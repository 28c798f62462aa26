"""The HTTP API: makes the SQL functions available to clients without a database connection. A request passes through these modules:

    request_limits.py  adds a request id, rejects large bodies; body_limits.py limits the number of JSON values, client_address.py finds the client behind a proxy
    authentication.py  keys, sessions and CSRF, rate limits, and the minimum role of the route (access.py); checked before the body is read
    idempotency.py  Idempotency-Key: a repeated change gets the first response
    tenancy.py      the tenant that a caller acts for; data of other tenants is reported as not found
    <noun>.py       the route: calls one method of the store. A change is written with its audit log entry, by one statement (plait.store.audit)
    shapes.py       the response: JSON from the database is sent as it is stored; redaction.py: secrets are redacted for viewers and operators
    problems.py     errors as RFC 9457 problems

Besides these:

    service.py      the server as a service: start and stop
    application.py  the application: routers, middleware, and the check that every route has a role
    fairness.py     limits per key and tenant, so that one key cannot use up the process
    change_feed.py  live updates: one poll for all watchers; change_stream.py sends them as server-sent events
    job_streams.py  streams of one job; job_logs.py: its log lines
    worker_protocol.py, waiting_claims.py  workers over HTTP; claims that wait for jobs, and the one listener that wakes them
    bulk.py, bulk_worker.py  bulk changes, as jobs that API processes run
    sessions.py, oidc.py  sign-in; oidc_provider.py is the only module here that makes outgoing requests
    site.py, embeds.py  the web UI's files; embedded views

There is one router for each resource. The SQL functions make all decisions: a route checks permissions, selects the tenant, and calls one
method of the store. Each method is one statement in autocommit mode, so PgBouncer in transaction mode works. The tenant is always a
parameter, never session state.
"""
