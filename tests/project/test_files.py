"""The maximum length and the names of files, and no trace of the machine that they were written on."""

import ast
import re
from pathlib import Path

import pytest

from .source_files import ROOT, name_of, project_files, sources

LIMIT = 400
REASON = re.compile(r"^(?:#|--) long: \S.*", re.MULTILINE)
VAGUE = {"utils", "helpers", "common", "base", "manager", "misc"}
# Only where a path begins: `parent/root/fan-out` is prose.
MACHINE_PATH = re.compile(r"(?<![\w.)}-])/(?:root(?![\w-])|work/|home/)")


@pytest.mark.parametrize("path", [*sources("plait", ".py", ".sql"), *sources("tests", ".py")], ids=name_of)
def test_a_source_file_is_short_or_says_why_not(path: Path) -> None:
    assert fault_of_length(path.read_text()) is None


def test_a_long_file_needs_a_reason_in_its_first_lines() -> None:
    long = "x = 1\n" * LIMIT
    assert fault_of_length(long) is not None
    assert fault_of_length("# long:\n" + long) is not None
    assert fault_of_length(long + "# long: too late to be seen\n") is not None
    assert fault_of_length("# long: one table that reads best whole\n" + long) is None
    assert fault_of_length("-- long: one table that reads best whole\n" + long) is None


def test_a_reason_goes_when_the_file_is_short_again() -> None:
    assert fault_of_length("# long: it was once\nx = 1\n") is not None


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = {
        name_of(path)
        for path in project_files()
        for part in path.relative_to(ROOT).parts
        if part.split(".")[0].lstrip("_").lower() in VAGUE
    }
    assert not vague


@pytest.mark.parametrize("package", sorted((ROOT / "plait").glob("*/__init__.py")), ids=name_of)
def test_the_modules_that_a_package_lists_exist(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse(package.read_text()), clean=False) or ""
    lines = re.sub(r"`[^`]*`", "", "".join(re.findall(r"^ {4}.*\n", docstring, re.MULTILINE)))
    listed = re.findall(r"\b(\w+\.py)\b", lines)
    assert [name for name in listed if not (package.parent / name).exists()] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    named = [
        f"{name_of(path)}:{number}: {line.strip()[:120]}"
        for path in project_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert not named


def test_a_machine_path_is_told_from_prose() -> None:
    home, root = "/" + "home/ada/plait", "/" + "root"
    assert MACHINE_PATH.search(f'DATA = "{home}"')
    assert MACHINE_PATH.search(f"cd {root} && ls")
    assert MACHINE_PATH.search(f"file://{home}")
    assert not MACHINE_PATH.search("parent/root/fan-out, jobs/{id}/root, /root_id, docs/home/index.md")


def fault_of_length(text: str) -> str | None:
    lines = text.splitlines()
    excused = REASON.search("\n".join(lines[:5])) is not None
    if len(lines) >= LIMIT and not excused:
        return f"{len(lines)} lines: split it by noun, or begin it with `# long: <reason>`"
    if len(lines) < LIMIT and excused:
        return f"{len(lines)} lines: it needs its `long:` comment no more"
    return None


def text_of(path: Path) -> str:
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode(errors="replace")
