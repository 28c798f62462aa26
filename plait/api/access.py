"""The one table of routes, and the least role that each needs. What is not in it is refused, and the application does not start."""

from typing import Final

from plait.model.roles import Role

PREFIX: Final = "/api/v1"

ANYBODY: Final = None
VIEWER, OPERATOR, ADMIN, SUPER_ADMIN, WORKER = (
    Role.VIEWER,
    Role.OPERATOR,
    Role.ADMIN,
    Role.SUPER_ADMIN,
    Role.WORKER,
)

ROUTES: Final[dict[str, Role | None]] = {
    "GET /healthz": ANYBODY,
    "GET /readyz": ANYBODY,
    f"GET {PREFIX}/openapi.json": ANYBODY,
    f"GET {PREFIX}/jobs": VIEWER,
    f"POST {PREFIX}/jobs": OPERATOR,
    f"GET {PREFIX}/jobs/{{job_id}}": VIEWER,
}
