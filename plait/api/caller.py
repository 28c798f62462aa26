"""The caller: the holder of a key or a session."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from plait.model.roles import Role

BY_PROVIDER: Final = "oidc: "
"""Prefix of the names of API keys that are created for sign-ins through an identity provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    key_id: UUID
    role: Role
    tenant_id: UUID | None
    """None: all tenants."""
    tenant: str | None
    name: str
    csrf: str | None = None
    """The CSRF token of a browser session."""
    embedded: bool = False
    """Whether the caller is an embedded view."""

    @property
    def actor(self) -> str:
        """The caller in the audit log. The key of a sign-in through an identity provider is deleted later, so the person's name is included."""
        return f"{self.name} (key {self.key_id})" if self.name.startswith(BY_PROVIDER) else f"key {self.key_id}"
