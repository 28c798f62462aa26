"""`traceparent` of W3C Trace Context: links a request, the jobs that it enqueues, and the jobs that those jobs enqueue.

A job's trace is not stored separately. An enqueue within a trace stores its `traceparent` as the job's correlation id, if the caller sets
none. The trace of any other job is derived from its correlation id or, without one, from its own id, so every process computes the same trace.
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
    """None: not decided yet."""


def trace_of(job_id: UUID, correlation_id: str | None = None) -> Trace:
    """The trace of a job, and its parent span."""
    if correlation_id is not None and (found := parsed(correlation_id)) is not None:
        return found
    made = sha256((correlation_id or str(job_id)).encode(errors="replace")).hexdigest()
    return Trace(made[:32], _span(job_id, 0), None)


def traceparent(job_id: UUID, attempt: int, correlation_id: str | None = None) -> str:
    """The header for requests that an attempt sends. The attempt is a span of its job's trace."""
    trace = trace_of(job_id, correlation_id)
    return f"00-{trace.trace_id}-{_span(job_id, attempt)}-{'00' if trace.sampled is False else '01'}"


def parsed(text: str) -> Trace | None:
    """Parse a `traceparent`; None if it is not valid."""
    found = _FORM.fullmatch(text)
    return None if found is None else Trace(found[1], found[2], bool(int(found[3], 16) & 1))


def _span(job_id: UUID, attempt: int) -> str:
    return sha256(f"{job_id}:{attempt}".encode()).hexdigest()[:16]
