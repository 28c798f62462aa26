"""S17: valid and invalid requests generated from the OpenAPI document, half of them for existing objects.

.venv/bin/python -m tests.api.fuzzing 50000             # the number of requests; optional: PART PARTS SEED
"""

import asyncio
import contextlib
import sys
from dataclasses import dataclass, field
from typing import Any

import hypothesis
import hypothesis.strategies as st
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode

from plait.api.application import build
from plait.model.roles import Role
from plait.testing import TestDatabase, TestServer

from ..harness import Harness
from .api_client import new_key
from .api_server import serve_api
from .samples import Things, make_things

SILENT = {"GET /api/v1/stream", "GET /api/v1/jobs/{job_id}/streams/{name}"}
"""Streams that do not end."""
FOR_PEOPLE = {"/api/v1/approvals/{token}"}
"""Routes that return HTML pages."""


async def _prepare(database: TestDatabase) -> tuple[dict[str, Any], Things, list[str]]:
    harness = await Harness.open(database)
    try:
        things = await make_things(harness, "default")
        tenant = await harness.tenant()
        keys = [(await new_key(harness.store, role, tenant))[1] for role in (Role.SUPER_ADMIN, Role.ADMIN, Role.WORKER)]
        return build(harness.store).openapi(), things, keys
    finally:
        await harness.close()


def fuzz(database: TestDatabase, cases: int, *, part: int = 0, parts: int = 1, seed: int = 0) -> dict[str, int]:
    """Send about this number of requests to a part of the routes. Returns the count of each status. Raises at the first wrong response."""
    document, things, keys = asyncio.run(_prepare(database))
    sending = Sending(
        keys=keys,
        known={
            "job_id": str(things.job_id),
            "trigger_id": str(things.trigger_id),
            "event_id": str(things.event_id),
            "definition_key": "add",
            "name": "default",
            "slug": "default",
        },
    )
    with serve_api(database.url) as url, sending.session:
        config = SchemathesisConfig.from_dict({"base-url": url})
        schema = schemathesis.openapi.from_dict(document, config=config)
        operations = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
        operations = [one for one in operations if one.label not in SILENT]
        assert len(operations) > 40
        operations = operations[part::parts]
        done = 0
        for number, operation in enumerate(operations):
            # Routes without parameters need few requests; the others get the remaining ones.
            each = max(1, (cases - done) // (len(operations) - number) // 2)
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                sending.many(operation, mode, each, seed)
            done = sum(sending.seen.values())
    return sending.seen


@dataclass
class Sending:
    keys: list[str]
    """API keys. The first key may call every route."""
    known: dict[str, str]
    seen: dict[str, int] = field(default_factory=dict)
    session: requests.Session = field(default_factory=requests.Session)

    def many(self, operation: Any, mode: GenerationMode, cases: int, seed: int) -> None:
        ways = 2 if "{" in operation.path else 1

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=max(1, cases // ways),
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode), st.integers(0, 9))
        def send(case: Any, lot: int) -> None:
            key = self.keys[lot if lot < len(self.keys) else 0]  # usually the key that may call every route
            if isinstance(case.body, dict) and isinstance(case.body.get("wait_seconds"), int | float):
                case.body["wait_seconds"] = min(case.body["wait_seconds"], 0)  # no job is enqueued meanwhile
            if isinstance(case.query, dict) and isinstance(case.query.get("wait_seconds"), int | float):
                case.query["wait_seconds"] = min(case.query["wait_seconds"], 0)
            self._one(case, key)
            if case.path_parameters and ways == 2:  # and once more with ids of existing objects
                case.path_parameters = {
                    name: self.known.get(name, value) for name, value in case.path_parameters.items()
                }
                self._one(case, key)

        with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # a route without parameters has no invalid requests
            send()

    def _one(self, case: Any, key: str) -> None:
        answer = case.call(headers={"Authorization": f"Bearer {key}"}, session=self.session)
        status = str(answer.status_code)
        self.seen[status] = self.seen.get(status, 0) + 1
        case.validate_response(answer, checks=[not_a_server_error], additional_checks=[_as_documented])


def _as_documented(_context: Any, answer: Any, case: Any) -> bool | None:
    """Check that a response matches the document."""
    operation = case.operation
    operation.validate_response(answer)
    if answer.status_code >= 400 and not (operation.path in FOR_PEOPLE and answer.status_code in (404, 409, 410)):
        assert answer.headers["content-type"] == ["application/problem+json"], answer.headers
    return None


async def _database() -> tuple[TestServer, TestDatabase]:
    server = TestServer()
    return server, await server.create_database(fake_clock=True)


if __name__ == "__main__":
    server, database = asyncio.run(_database())
    try:
        given = [int(text) for text in sys.argv[1:]]
        cases, part, parts, seed = given + [5000, 0, 1, 0][len(given) :]
        print(fuzz(database, cases, part=part, parts=parts, seed=seed))
    finally:
        asyncio.run(server.drop_database(database))
        server.close()
