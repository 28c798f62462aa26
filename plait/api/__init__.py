"""The HTTP API: what the SQL functions do, for who has no connection to the database.

    service.py      the server as a service of plait's: starts, stops
    application.py  the application: routers, middleware, and the check that every route has its role
    access.py       the one table of routes and the least role that each needs; what is not in it is refused
    guard.py        who calls: keys, sessions, CSRF, rates; before anything of a request is read
    tenancy.py      for which tenant a caller acts, and that others' things are not there
    problems.py     every error as RFC 9457 says
    idempotency.py  Idempotency-Key
    waiting_claims.py  claims that wait for work, and the one listener that wakes them
    oidc_provider.py   an identity provider: the only module here that calls out
    shapes.py       how answers are made: JSON from the database goes out as it is stored

and one router for each noun. Nothing is decided here that a SQL function decides: a route checks who may, names the tenant, and
calls one method of the store. Each is one statement in autocommit, so PgBouncer in transaction mode will do. The tenant is always
a parameter: no session state says for whom a statement runs.
"""
