"""plait: a durable, multi-tenant job system for Python on Postgres.

    from plait import Plait

    app = Plait()

    @app.job
    async def resize(path: str, width: int) -> str: ...

The public API is listed in `plait.sdk.exports`. Other names may change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from plait.sdk.exports import *  # noqa: F403 - the names that __getattr__ finds
else:

    def __getattr__(name: str) -> Any:
        """Load the interface on first use: the command line imports this package too, and must start quickly."""
        if name.startswith("_") and name != "__all__":
            raise AttributeError(f"module 'plait' has no attribute {name!r}")
        exports = vars(import_module("plait.sdk.exports"))
        names = {exported: value for exported, value in exports.items() if exported[0].isalpha()}
        globals().update(names, __all__=sorted(names))
        if name not in globals():
            raise AttributeError(f"module 'plait' has no attribute {name!r}")
        return globals()[name]
