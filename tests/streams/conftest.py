from ..workflows.conftest import app, app_harness, kit, plait_app

__all__ = ["app", "app_harness", "kit", "plait_app"]
