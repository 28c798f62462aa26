"""ETags for optimistic concurrency control. An ETag is the time of the last change; a change with an outdated ETag is rejected."""

from datetime import datetime

from plait.model.errors import ChangedMeanwhile


def etag(updated_at: datetime) -> str:
    return f'"{int(updated_at.timestamp() * 1_000_000):x}"'


def unchanged_since(if_match: str | None, updated_at: datetime) -> datetime | None:
    """The time of the last change, for the database to compare; None if the caller sent no ETag."""
    if if_match is None or if_match.strip() == "*":
        return None
    if etag(updated_at) not in {tag.strip() for tag in if_match.split(",")}:
        raise ChangedMeanwhile
    return updated_at
