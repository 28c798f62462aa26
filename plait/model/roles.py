"""The roles of API keys: four levels, each with all permissions of the level below, and the separate worker role."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    VIEWER = "viewer"
    """Read the tenant's data."""
    OPERATOR = "operator"
    """Also enqueue, emit, cancel and retry."""
    ADMIN = "admin"
    """Also manage the tenant's triggers and keys."""
    SUPER_ADMIN = "super-admin"
    """All tenants, and the installation: definitions, queues, tenants, workers."""
    WORKER = "worker"
    """Run jobs of all tenants over HTTP, and nothing else."""


LADDER: Final = (Role.VIEWER, Role.OPERATOR, Role.ADMIN, Role.SUPER_ADMIN)
OF_A_TENANT: Final = frozenset(LADDER[:3])


def may(role: Role, least: Role) -> bool:
    """Whether a role includes the permissions of `least`."""
    if least is Role.WORKER:
        return role in (Role.WORKER, Role.SUPER_ADMIN)
    return role in LADDER and LADDER.index(role) >= LADDER.index(least)
