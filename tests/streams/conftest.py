from ..workflows.conftest import app, kit, over, plait_app

__all__ = ["app", "kit", "over", "plait_app"]
