"""Who calls: what is known of the holder of a key or a session."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from plait.model.roles import Role

BY_PROVIDER: Final = "oidc: "
"""Name of the API keys that are made for people who sign in through an identity provider."""


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
        """For the audit log. The key of a person who signed in through an identity provider is deleted later, so the person is named too."""
        return f"{self.name} (key {self.key_id})" if self.name.startswith(BY_PROVIDER) else f"key {self.key_id}"
