"""The wheel's build hook: the build fails if a wheel or a source archive does not contain the web UI.

An editable install needs no Node. Build its UI with `make ui`.
"""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_spec = importlib.util.spec_from_file_location("ui", Path(__file__).with_name("ui.py"))
assert _spec is not None
assert _spec.loader is not None
ui = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ui)


class WithUi(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the hook's interface
        if version != "editable":
            ui.build()
