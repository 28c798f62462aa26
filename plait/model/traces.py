"""`traceparent`, as W3C Trace Context says: what ties a request, the jobs that it asked for, and what they ask for in turn.

A job's trace is kept nowhere of its own. Who enqueues within a trace leaves its `traceparent` as the job's correlation id, where the caller
names none; a job without one has a trace made from its correlation id, else from its own id: the same wherever it is worked out.
"""

import re
from hashlib import sha256
from typing import Final, NamedTuple
from uuid import UUID

_FORM: Final = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


class Trace(NamedTuple):
    trace_id: str
    span_id: str
    sampled: bool | None
    """None: nobody has decided yet."""


def trace_of(job_id: UUID, correlation_id: str | None = None) -> Trace:
    """The trace that a job belongs to, and the span in it that it comes from."""
    if correlation_id is not None and (found := parsed(correlation_id)) is not None:
        return found
    made = sha256((correlation_id or str(job_id)).encode(errors="replace")).hexdigest()
    return Trace(made[:32], _span(job_id, 0), None)


def traceparent(job_id: UUID, attempt: int, correlation_id: str | None = None) -> str:
    """For what an attempt asks of others: all that belongs together is one trace, and an attempt is a span of it."""
    trace = trace_of(job_id, correlation_id)
    return f"00-{trace.trace_id}-{_span(job_id, attempt)}-{'00' if trace.sampled is False else '01'}"


def parsed(text: str) -> Trace | None:
    """What a `traceparent` says; None where it is none."""
    found = _FORM.fullmatch(text)
    return None if found is None else Trace(found[1], found[2], bool(int(found[3], 16) & 1))


def _span(job_id: UUID, attempt: int) -> str:
    return sha256(f"{job_id}:{attempt}".encode()).hexdigest()[:16]
