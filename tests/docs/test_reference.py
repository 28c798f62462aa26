"""docs/reference matches the code."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


reference = importlib.import_module("reference")


@pytest.mark.parametrize("name", reference.pages())
def test_a_page_of_the_reference_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference.pages()[name], "run: python scripts/reference.py"


def test_every_setting_and_every_error_says_what_it_is() -> None:
    for name in ("settings.md", "errors.md"):
        rows = [line for line in reference.pages()[name].splitlines() if line.startswith("| `") or "&nbsp;" in line]
        assert rows
        assert [row for row in rows if row.endswith("|  |")] == []
