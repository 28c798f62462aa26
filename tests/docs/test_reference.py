"""docs/reference matches the code."""

import importlib
import re
from pathlib import Path

import pytest

from plait.api.application import build
from plait.api.names import TABLES
from plait.cli.errors import ExitCode
from plait.model.reasons import REASONS
from plait.runtime.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


reference = importlib.import_module("reference")
cli_reference = importlib.import_module("cli_reference")
python_reference = importlib.import_module("python_reference")


@pytest.mark.parametrize("name", reference.pages())
def test_a_page_of_the_reference_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference.pages()[name], "run: python scripts/reference.py"


def test_every_setting_and_every_error_says_what_it_is() -> None:
    for name in ("settings.md", "errors.md"):
        rows = [line for line in reference.pages()[name].splitlines() if line.startswith("| `") or "&nbsp;" in line]
        assert rows
        assert [row for row in rows if row.endswith("|  |")] == []


def test_no_page_has_an_empty_description() -> None:
    for name, text in reference.pages().items():
        headings = [title for title in re.findall(r"^#+ .*$", text, re.MULTILINE) if f"{title}\n\n\n" in text]
        assert headings == [], name
        assert [line for line in text.splitlines() if re.search(r"\| +\|$", line)] in ([], ["| command | |"]), name


def test_every_command_has_one_example_and_no_other() -> None:
    names = set(cli_reference.commands())
    assert names == set(cli_reference.EXAMPLES)
    for name, example in cli_reference.EXAMPLES.items():
        assert f"{example} ".startswith(f"plait {name} ")


def test_the_exit_codes_and_variables_of_the_command_line_exist() -> None:
    assert {int(code) for code in ExitCode} <= set(cli_reference.exit_codes())
    variables = set(re.findall(r"\| `(PLAIT_[A-Z_]+)` \|", cli_reference.page("")))
    assert variables - {"PLAIT_DEBUG"} <= {f"PLAIT_{name.upper()}" for name in Settings.model_fields}


def test_every_name_that_plait_exports_is_explained_with_its_parameters() -> None:
    assert python_reference.listed() == python_reference.exported()
    assert python_reference.undescribed() == []


def test_every_name_of_the_http_contract_is_in_the_openapi_document() -> None:
    document = str(build(None).openapi())  # type: ignore[arg-type]  # the document needs no database
    for resource, names in TABLES.items():
        assert [name for name in names if f"'{name}'" not in document] == [], resource


def test_every_reason_that_the_sources_give_is_listed() -> None:
    listed = {reason for reasons in REASONS.values() for reason in reasons}
    assert len(found := set(_reasons())) > 30
    assert found <= listed, found - listed


REASONS_IN_SQL = (
    r"_make_final\([^;]*?'(?:canceled|timeout|lost)', (?:'\w+'|o_final), '(\w+)'",
    r"_release_running\([^;]*?'(\w+)'",
    r"_cancel_rows\([^;]*?'(\w+)'",
    r"_suspend\([^;]*?'(\w+)[ ']",
    r"'(?:released|lost)', ?'(\w+)'",
    r"'reason', '(\w+)'",
    r"reason := '(\w+)'",
)


def _reasons() -> list[str]:
    """The codes that SQL functions, workers and clients give as a reason."""
    found = []
    for path in (ROOT / "plait" / "sql" / "functions").rglob("*.sql"):
        text = re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", path.read_text()))  # the layout may break a line anywhere
        for pattern in REASONS_IN_SQL:
            found += re.findall(pattern, text)
        for choice in re.findall(
            r"(?:reason\s+text := |reason, |o_reason := |\brule = )case\b.*?\bend\b(?!,? *case)", text, re.DOTALL
        ):
            found += re.findall(r"(?:then|else) '(\w+)'", choice)
    for folder in ("plait", "clients/python/plait_client"):
        for path in (ROOT / folder).rglob("*.py"):
            found += re.findall(r"\breason(?:=|\": )\"(\w+)\"", path.read_text())
    for path in (ROOT / "clients" / "typescript" / "src").glob("*.ts"):
        found += re.findall(r"(?:reason: |failedFor\()\"(\w+)\"", path.read_text())
    return [
        reason for reason in found if reason not in ("quorum", "released", "waiting", "dead_letter")
    ]  # statuses, rules
