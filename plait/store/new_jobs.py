"""New jobs, and the statements that enqueue one or many."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

ENQUEUE: Final = """select requested, existing from plait.enqueue_many(
  $1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::int[], $7::int[], $8::timestamptz[], $9::float8[], $10::float8[],
  $11::text[], $12::text[], $13::float8[], $14::text[], $15::text[], $16::text, $17::boolean,
  $18::text[], $19::text[], $20::int, $21::text::json, $22::float8[])"""


ENQUEUE_ONE: Final = "select plait.enqueue_one($1, $2, $3, $4, $5, $6, $7)"


class NewJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A new job: the columns of one element of `plait.enqueue_many`. The tenant may be omitted only if the session has one."""

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
    """The jobs that it waits for, as the text of an array of their ids."""
    on_dependency_failure: str | None = None
    defaults: str | None = None
    """The code's settings of the definition, as JSON: used if no worker has registered the definition yet."""
    deadline_s: float | None = None

    def is_plain(self) -> bool:
        """Whether it runs immediately and has no keys, so that `enqueue_one` suffices."""
        return self.tenant_id is not None and all(
            value is None
            for value in (
                self.scheduled_for,
                self.delay_s,
                self.timeout_s,
                self.dedupe_key,
                self.idempotency_key,
                self.limit_key,
                self.correlation_id,
                self.after,
                self.deadline_s,
            )
        )

    def may_wait(self) -> bool:
        """Whether another transaction can lock something that this job needs: a key, or a job that it depends on."""
        return self.dedupe_key is not None or self.idempotency_key is not None or self.after is not None


_PLAIN: Final = NewJob.__struct_fields__[:-4]
_COMMON: Final = ("definition", "tenant_id", "queue", "priority", "max_attempts")


MAX_WAIT_MS: Final = 5000
"""How long an enqueue waits for a key, a quota or a job that another open transaction locks."""


def enqueue_arguments(
    jobs: Sequence[NewJob], *, source: str = "manual", in_transaction: bool, wait_ms: int = MAX_WAIT_MS
) -> list[Any]:
    """The arguments of `ENQUEUE`. An unused column is null, and a common value is sent once."""
    arrays: list[Any] = []
    for name in _PLAIN:
        column = [getattr(job, name) for job in jobs]
        if column.count(column[0]) == len(column):
            if column[0] is None and name != "tenant_id":
                arrays.append(None)
                continue
            if name in _COMMON:
                column = column[:1]
        arrays.append(column)
    waits: list[Any] = [None, None]
    if any(job.after is not None for job in jobs):
        waits = [[job.after for job in jobs], [job.on_dependency_failure for job in jobs]]
    deadlines = [job.deadline_s for job in jobs]
    bounds = deadlines if any(one is not None for one in deadlines) else None
    return [*arrays, source, in_transaction, *waits, wait_ms, defaults_of(jobs, arrays[1]), bounds]


def defaults_of(jobs: Sequence[NewJob], definitions: Sequence[str]) -> str | None:
    """Defaults by definition. Sent once if all jobs have one definition, as in most batches."""
    known = {job.definition: job.defaults for job in (jobs[:1] if len(definitions) == 1 else jobs) if job.defaults}
    return (
        "{" + ",".join(f"{msgspec.json.encode(name).decode()}:{text}" for name, text in known.items()) + "}"
        if known
        else None
    )
