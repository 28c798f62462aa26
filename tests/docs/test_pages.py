"""Every Python block of the README and the docs runs, every command line names an existing command, and no link is broken."""

import asyncio
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import typer

from plait import cli
from plait.testing import TestDatabase

from .blocks import Block, blocks, run
from .conftest import CLIENT, WorkOn

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

FOLDERS = ("plait", "tests", "ui", "bench", "clients", "scripts", "deploy", "examples", "docs")
READMES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("README.md")
    if folder != "docs" and "node_modules" not in path.parts
)

every_page = pytest.mark.parametrize("page", PAGES)
every_document = pytest.mark.parametrize("page", [*PAGES, *READMES])


def of(page: str, language: str) -> list[Block]:
    return [block for block in blocks(ROOT / page, page) if block.language == language]


@pytest.mark.parametrize("page", [page for page in PAGES if of(page, "python")])
async def test_the_python_of_a_page_runs(
    page: str, real_clock_database: TestDatabase, work_on: WorkOn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    conn = await asyncpg.connect(real_clock_database.url_for(CLIENT))
    namespace: dict[str, Any] = {"__name__": "page", "conn": conn, "client_url": real_clock_database.url_for(CLIENT)}
    before = set(sys.modules)
    try:
        async with work_on(lambda: namespace.get("app")):
            for block in of(page, "python"):
                if block.file:
                    (tmp_path / block.file).write_text(block.text)
                if not block.is_test_file:
                    await run(block, namespace)
    finally:
        await conn.close()
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
                del sys.modules[name]
    if list(tmp_path.glob("test_*.py")):
        await run_pytest(tmp_path)


async def run_pytest(directory: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", "."),
        cwd=directory,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, output.decode()
    assert b"4 passed" in output


async def test_the_hello_of_the_readme_is_the_example_and_says_hello(real_clock_database: TestDatabase) -> None:
    example = (ROOT / "examples" / "hello.py").read_text()
    (hello,) = [block for block in of("README.md", "python") if block.file == "hello.py"]
    assert hello.text.removeprefix("# hello.py\n") == example
    assert len([line for line in example.splitlines() if line]) <= 6
    (command,) = [line for line in command_lines("README.md") if line[:3] == ["plait", "run", "hello.py"]]
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "plait"),
        *command[1:],
        cwd=ROOT / "examples",
        env={"PLAIT_DATABASE_URL": real_clock_database.url, "PATH": ""},
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 180)
    assert (process.returncode, output.decode()) == (0, "Hello, world!\n")


@every_page
def test_the_commands_of_a_page_are_commands_that_there_are(page: str) -> None:
    for words in command_lines(page):
        check_command(words[1:], typer.main.get_command(cli.app))


def command_lines(page: str) -> list[list[str]]:
    lines = "".join(block.text for block in of(page, "")).splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("plait ")]


def check_command(words: list[str], command: Any) -> None:
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    for word in words:
        if not hasattr(command, "commands"):
            break  # the rest are its arguments
        assert word in command.commands, f"{words}: there is no command {word}"
        command = command.commands[word]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert options <= known, f"{words}: there is no {options - known}"


@every_document
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


@every_document
def test_the_paths_that_a_page_names_exist(page: str) -> None:
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", (ROOT / page).read_text()):
        assert (ROOT / path).exists() or path.startswith("plait/api/static"), path


@every_document
def test_the_anchors_of_a_page_are_headings(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", (ROOT / page).read_text()):
        path = (ROOT / page).parent / target if target else ROOT / page
        assert anchor in headings(path), f"{target}#{anchor}"


def headings(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


def test_every_page_of_the_docs_can_be_found_from_their_first_one() -> None:
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", (ROOT / "docs" / "README.md").read_text()))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert listed == there


def test_the_readme_is_a_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 85


def test_the_architecture_is_two_pages() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 110
    assert len(text.split()) <= 1100
