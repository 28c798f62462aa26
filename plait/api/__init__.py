"""The HTTP API: the SQL functions, for clients without a database connection.

    service.py      the server as a service: start and stop
    application.py  the application: routers, middleware, and the check that every route has a role
    access.py       the table of routes and their least roles; routes that are not in it are rejected
    authentication.py  keys, sessions, CSRF, rate limits; before a request is read
    tenancy.py      the tenant that a caller acts for; other tenants' data is not found
    problems.py     errors as RFC 9457 problems
    idempotency.py  Idempotency-Key
    waiting_claims.py  claims that wait for jobs, and the one listener that wakes them
    oidc_provider.py   the OIDC identity provider: the only module here that makes outgoing requests
    shapes.py       responses: JSON from the database is sent as it is stored

There is one router for each noun. The SQL functions make all decisions: a route checks permissions, names the tenant, and calls one
method of the store. Each is one statement in autocommit mode, so PgBouncer in transaction mode works. The tenant is always a
parameter: no session state selects it.
"""
