"""Roles from the claims of an OIDC identity provider: deny by default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plait.model.roles import LADDER, OF_A_TENANT, Role


@dataclass(frozen=True, slots=True)
class Grant:
    role: Role
    tenant: str | None
    """The tenant's slug; None: all tenants."""


def parsed(text: str) -> Grant:
    """Parse `super-admin`, `operator` or `operator@acme`; ValueError for anything else."""
    name, at, tenant = text.partition("@")
    role = Role(name)
    if role not in LADDER or (at and (role not in OF_A_TENANT or not tenant)):
        raise ValueError(
            f"role must be viewer, operator, admin (with a tenant: admin@acme) or super-admin, got {text!r}"
        )
    return Grant(role, tenant or None)


def granted(
    claims: Mapping[str, Any], *, roles: Mapping[str, str], role_claim: str, tenant_claim: str | None
) -> Grant | None:
    """The highest role that the claims grant; None if they grant none.

    `roles` maps values of the claim to roles, in the form that `parsed` reads. A role without a tenant applies to the tenant in the tenant claim."""
    own = _at(claims, tenant_claim) if tenant_claim else None
    tenant = own if isinstance(own, str) and own else None
    found = [
        grant if grant.role is Role.SUPER_ADMIN or grant.tenant else Grant(grant.role, tenant)
        for value, text in roles.items()
        if value in _texts(_at(claims, role_claim))
        for grant in (parsed(text),)
    ]
    usable = [grant for grant in found if grant.role is Role.SUPER_ADMIN or grant.tenant]
    return max(usable, key=lambda grant: LADDER.index(grant.role), default=None)


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """A claim by its name or by a path (`realm_access.roles`)."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset({value})
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, list) else frozenset()
