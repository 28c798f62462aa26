"""Who calls: what is known of the holder of a key or a session."""

from dataclasses import dataclass
from uuid import UUID

from plait.model.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    key_id: UUID
    role: Role
    tenant_id: UUID | None
    """None: all of them."""
    tenant: str | None
    name: str
    csrf: str | None = None
    """Of a browser's session."""
    embedded: bool = False
    """A view that another site embeds."""

    @property
    def actor(self) -> str:
        return f"key {self.key_id}"
