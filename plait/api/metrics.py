"""`/metrics`: the installation's metrics. They contain tenant names, so only super-admins may read them. To scrape without a key, set PLAIT_METRICS_PORT."""

from fastapi import Request, Response

from plait.api.authentication import new_router
from plait.telemetry.exposition import Exposition

router = new_router("metrics", prefix="")


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
)
async def get_metrics(request: Request) -> Response:
    """Get metrics in the Prometheus format."""
    exposition: Exposition = request.app.state.exposition
    body, kind = await exposition.render(request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": kind})
