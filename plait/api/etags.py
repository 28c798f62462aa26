"""ETags of what may be changed by two at once: the moment of the last change. Who sends it back changes nothing that has changed since."""

from datetime import datetime

from plait.model.errors import ChangedMeanwhile


def etag(updated_at: datetime) -> str:
    return f'"{int(updated_at.timestamp() * 1_000_000):x}"'


def unchanged_since(if_match: str | None, updated_at: datetime) -> datetime | None:
    """The moment that the database shall compare with; None where the caller did not ask."""
    if if_match is None or if_match.strip() == "*":
        return None
    if etag(updated_at) not in {tag.strip() for tag in if_match.split(",")}:
        raise ChangedMeanwhile
    return updated_at
