"""New jobs, and the statements that enqueue one or many."""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import msgspec

from plait.store.named_arguments import named


class NewJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job to create, for all calls that create jobs. None means "not set". The tenant may be omitted only if the session has a tenant.

    Fan-outs and spawns accept a subset: `store.workflows.CHILD_FIELDS` and `store.nurseries.SPAWN_FIELDS`. Their tenant, correlation id and
    source come from the parent.
    """

    id: UUID
    definition: str
    payload: str
    tenant_id: UUID | None = None
    queue: str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    scheduled_for: datetime | None = None
    delay_s: float | None = None
    timeout_s: float | None = None
    dedupe_key: str | None = None
    idempotency_key: str | None = None
    idempotency_ttl_s: float | None = None
    limit_key: str | None = None
    correlation_id: str | None = None
    after: str | None = None
    """The jobs that it depends on: an array of ids, as text."""
    on_dependency_failure: str | None = None
    defaults: str | None = None
    """The definition's settings in code, as JSON. They apply if no worker has registered the definition yet."""
    deadline_s: float | None = None

    def is_plain(self) -> bool:
        """Whether the job runs immediately and has no keys, so that `enqueue_one` suffices."""
        return self.tenant_id is not None and _special_values(self) == _NOT_SPECIAL

    def may_wait(self) -> bool:
        """Whether the enqueue may wait for another transaction: the job has a key, or depends on other jobs."""
        return self.dedupe_key is not None or self.idempotency_key is not None or self.after is not None


ARRAYS: Final = {
    "id": "p_ids::uuid[]",
    "definition": "p_definitions::text[]",
    "payload": "p_payloads::text[]",
    "tenant_id": "p_tenants::uuid[]",
    "queue": "p_queues::text[]",
    "priority": "p_priorities::int[]",
    "max_attempts": "p_max_attempts::int[]",
    "scheduled_for": "p_scheduled_for::timestamptz[]",
    "delay_s": "p_delays_s::float8[]",
    "timeout_s": "p_timeouts_s::float8[]",
    "dedupe_key": "p_dedupe_keys::text[]",
    "idempotency_key": "p_idempotency_keys::text[]",
    "idempotency_ttl_s": "p_idempotency_ttls_s::float8[]",
    "limit_key": "p_limit_keys::text[]",
    "correlation_id": "p_correlation_ids::text[]",
    "after": "p_afters::text[]",
    "on_dependency_failure": "p_on_dependency_failures::text[]",
    "deadline_s": "p_deadlines_s::float8[]",
}
"""The fields of a new job, with the array parameter of `plait.enqueue_many` for each. Statements and their arguments are built from this
list, in this order. `defaults` are sent once for each definition."""
_SINGLE: Final = {
    "id": "p_id",
    "definition": "p_definition",
    "payload": "p_payload",
    "tenant_id": "p_tenant",
    "queue": "p_queue",
    "priority": "p_priority",
    "max_attempts": "p_max_attempts",
}
"""The fields of a plain job, with the parameter of `plait.enqueue_one` for each."""
_WITH_OTHERS: Final = ("idempotency_ttl_s", "on_dependency_failure")
"""Fields that have no effect unless another field is set."""

_SHARED: Final = ("definition", "tenant_id", "queue", "priority", "max_attempts")
"""Fields whose value is sent once if all jobs have the same value."""
_PLACES: Final = {field: place for place, field in enumerate(ARRAYS)}
_GETTERS: Final = {field: attrgetter(field) for field in ARRAYS}
_SPECIAL: Final = tuple(field for field in ARRAYS if field not in _SINGLE and field not in _WITH_OTHERS)
_special_values: Final = attrgetter(*_SPECIAL)
_NOT_SPECIAL: Final = (None,) * len(_SPECIAL)

single_arguments: Final = attrgetter(*_SINGLE)
"""The arguments of `ENQUEUE_ONE` for a job."""
ENQUEUE_ONE: Final = f"select plait.enqueue_one({named(_SINGLE.values())})"
ENQUEUE: Final = (
    "select requested, existing from plait.enqueue_many("
    + named(
        (*ARRAYS.values(), "p_source::text", "p_in_transaction::boolean", "p_wait_ms::int", "p_defaults::text::json")
    )
    + ")"
)

MAX_WAIT_MS: Final = 5000
"""How long an enqueue waits, in total, for a key, a quota or a job that another open transaction locks."""


def place_of(field: str) -> int:
    """The position of a field's array among the arguments of `ENQUEUE`, from 0."""
    return _PLACES[field]


def enqueue_arguments(
    jobs: Sequence[NewJob], *, source: str = "manual", in_transaction: bool, wait_ms: int = MAX_WAIT_MS
) -> list[Any]:
    """The arguments of `ENQUEUE`. An unused array is null, and a common value is sent once."""
    arrays: list[Any] = []
    for field, get in _GETTERS.items():
        column = list(map(get, jobs))
        if field not in ("id", "payload") and column.count(column[0]) == len(column):
            if column[0] is None and field != "tenant_id":
                arrays.append(None)
                continue
            if field in _SHARED:
                column = column[:1]
        arrays.append(column)
    return [*arrays, source, in_transaction, wait_ms, defaults_of(jobs, arrays[place_of("definition")])]


def arrays_of(jobs: Sequence[NewJob], fields: Sequence[str], *, once: bool = False) -> dict[str, list[Any] | None]:
    """The array arguments for these fields, by the names of their parameters; an unused array is null. `once`: a common value is sent
    once, to a function that repeats it."""
    found: dict[str, list[Any] | None] = {}
    for field in fields:
        column: list[Any] | None = list(map(_GETTERS[field], jobs))
        if field not in ("id", "payload") and column and column.count(column[0]) == len(column):
            if column[0] is None:
                column = None
            elif once and field in _SHARED:
                column = column[:1]
        found[ARRAYS[field].partition("::")[0]] = column
    return found


def defaults_of(jobs: Sequence[NewJob], definitions: Sequence[str]) -> str | None:
    """The defaults by definition, as JSON. If all jobs have the same definition, only the first job is read."""
    known = {job.definition: job.defaults for job in (jobs[:1] if len(definitions) == 1 else jobs) if job.defaults}
    return (
        "{" + ",".join(f"{msgspec.json.encode(name).decode()}:{text}" for name, text in known.items()) + "}"
        if known
        else None
    )
