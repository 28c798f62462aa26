"""S17: requests made from the OpenAPI document, right ones and wrong ones, half of them on things that are there.

.venv/bin/python -m tests.api.fuzzing 50000
"""

import asyncio
import sys
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

from ..world import World
from .calling import new_key
from .samples import Things, make_things
from .serving import served

SILENT = {"GET /api/v1/stream"}
"""Never ends by itself."""


async def _prepare(database: TestDatabase) -> tuple[dict[str, Any], Things, list[str]]:
    world = await World.open(database)
    try:
        things = await make_things(world, "default")
        tenant = await world.tenant()
        keys = [(await new_key(world.store, role, tenant))[1] for role in (Role.SUPER_ADMIN, Role.ADMIN, Role.WORKER)]
        return build(world.store).openapi(), things, keys
    finally:
        await world.close()


def fuzz(database: TestDatabase, cases: int) -> dict[str, int]:
    """Send so many requests; how often each status was answered. The first answer that is wrong is raised."""
    document, things, keys = asyncio.run(_prepare(database))
    known = {
        "job_id": str(things.job_id),
        "trigger_id": str(things.trigger_id),
        "event_id": str(things.event_id),
        "definition_key": "add",
        "name": "default",
        "slug": "default",
    }
    seen: dict[str, int] = {}
    session = requests.Session()
    with served(database.url) as url:
        config = SchemathesisConfig.from_dict({"base-url": url})
        schema = schemathesis.openapi.from_dict(document, config=config)
        operations = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
        operations = [one for one in operations if one.label not in SILENT]
        assert len(operations) > 40
        each = max(1, cases // len(operations) // 2)
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _operation(operation, mode, each, known, keys, session, seen)
    return seen


def _operation(
    operation: Any,
    mode: GenerationMode,
    each: int,
    known: dict[str, str],
    keys: list[str],
    session: requests.Session,
    seen: dict[str, int],
) -> None:
    @hypothesis.settings(
        max_examples=each,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(operation.as_strategy(generation_mode=mode), st.booleans(), st.sampled_from(keys))
    def send(case: Any, there: bool, key: str) -> None:
        if there and case.path_parameters:
            case.path_parameters = {name: known.get(name, value) for name, value in case.path_parameters.items()}
        if isinstance(case.body, dict) and isinstance(case.body.get("wait_seconds"), int | float):
            case.body["wait_seconds"] = min(case.body["wait_seconds"], 0)  # nobody enqueues: it would wait in vain
        answer = case.call(headers={"Authorization": f"Bearer {key}"}, session=session)
        seen[str(answer.status_code)] = seen.get(str(answer.status_code), 0) + 1
        checks = [not_a_server_error]
        case.validate_response(answer, checks=checks, additional_checks=[_as_documented])

    try:
        send()
    except hypothesis.errors.Unsatisfiable:
        return  # nothing can be wrong with a request that has no parts


def _as_documented(_context: Any, answer: Any, case: Any) -> bool | None:
    """An answer has the shape that the document says."""
    operation = case.operation
    operation.validate_response(answer)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"], answer.headers
    return None


async def _database() -> tuple[TestServer, TestDatabase]:
    server = TestServer()
    return server, await server.create_database(fake_clock=True)


if __name__ == "__main__":
    server, database = asyncio.run(_database())
    try:
        print(fuzz(database, int(sys.argv[1])))
    finally:
        asyncio.run(server.drop_database(database))
        server.close()
