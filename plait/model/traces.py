"""`traceparent`, as W3C Trace Context says: what ties a request to the job that made it."""

from hashlib import sha256
from uuid import UUID


def traceparent(job_id: UUID, attempt: int, correlation_id: str | None = None) -> str:
    """All that belongs together, by its correlation id, is one trace; an attempt is a span of it. The same wherever it is worked out."""
    trace = sha256(correlation_id.encode(errors="replace")).hexdigest()[:32] if correlation_id else job_id.hex
    span = sha256(f"{job_id}:{attempt}".encode()).hexdigest()[:16]
    return f"00-{trace}-{span}-01"
