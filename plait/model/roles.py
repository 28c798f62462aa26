"""What a key of the API may do: a ladder of four roles, each with all that the one below it may; and the worker's, apart."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    VIEWER = "viewer"
    """Reads what its tenant has."""
    OPERATOR = "operator"
    """And enqueues, emits, cancels, retries."""
    ADMIN = "admin"
    """And manages its tenant's triggers and keys."""
    SUPER_ADMIN = "super-admin"
    """All tenants, and what belongs to the installation: definitions, queues, tenants, workers."""
    WORKER = "worker"
    """Runs jobs of all tenants over HTTP, and nothing else."""


LADDER: Final = (Role.VIEWER, Role.OPERATOR, Role.ADMIN, Role.SUPER_ADMIN)
OF_A_TENANT: Final = frozenset(LADDER[:3])


def may(role: Role, least: Role) -> bool:
    """Whether a role has what `least` has."""
    if least is Role.WORKER:
        return role in (Role.WORKER, Role.SUPER_ADMIN)
    return role in LADDER and LADDER.index(role) >= LADDER.index(least)
