"""docs/reference matches the code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = _reference()


@pytest.mark.parametrize("name", ["sql.md", "errors.md", "settings.md", "states.md", "api.md"])
def test_a_page_of_the_reference_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference.pages()[name], "run: python scripts/reference.py"


def test_every_setting_and_every_error_says_what_it_is() -> None:
    for name in ("settings.md", "errors.md"):
        rows = [line for line in reference.pages()[name].splitlines() if line.startswith("| `") or "&nbsp;" in line]
        assert rows
        assert [row for row in rows if row.endswith("|  |")] == []
