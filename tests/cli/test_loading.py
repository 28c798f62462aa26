"""Load an application from a file or a module, and errors if none is found."""

import sys
from pathlib import Path

import pytest

from plait.cli.errors import BadApp
from plait.cli.loading import load_app

from .conftest import WriteApp

ONE = "from plait import Plait\napp = Plait()\n"


def test_a_file_is_imported_under_its_own_name(write_app: WriteApp) -> None:
    path = write_app(ONE, "bakery.py")
    app = load_app(str(path))
    assert load_app(f"{path}:app") is app
    assert sys.modules["bakery"].app is app
    assert sys.path[0] == str(path.parent)


def test_a_module_is_found_from_the_current_directory(write_app: WriteApp, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_app(ONE, "brewery.py")
    monkeypatch.chdir(path.parent)
    assert load_app("brewery") is load_app("brewery:app")


def test_a_file_of_a_package_keeps_its_relative_imports(write_app: WriteApp) -> None:
    write_app("", "farm/__init__.py")
    write_app(ONE, "farm/barn.py")
    path = write_app("from .barn import app\n", "farm/jobs.py")
    assert load_app(str(path)) is sys.modules["farm.barn"].app


def test_one_app_under_two_names_is_one_app(write_app: WriteApp) -> None:
    load_app(str(write_app(ONE + "also = app\n", "mill.py")))


@pytest.mark.parametrize(
    ("text", "spec", "said"),
    [
        ("", "none.py", "no Plait object found in"),
        ("from plait import Plait\na = Plait()\nb = Plait()\n", "two.py", "several Plait objects (a, b)"),
        (ONE, "other.py:b", "no Plait object called 'b'; it has app"),
        ("def (:\n", "syntax.py", "SyntaxError"),
        ("import nowhere_at_all\n", "imports.py", "No module named 'nowhere_at_all'"),
        ("\n1 / 0\n", "breaks.py", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", "exits.py", "SystemExit: 3"),
        (ONE, "json.py", "Rename the file"),
        (ONE, "a.b.py", "Rename the file"),
    ],
)
def test_what_cannot_be_loaded_is_told(write_app: WriteApp, text: str, spec: str, said: str) -> None:
    path = write_app(text, spec.split(":")[0])
    with pytest.raises(BadApp) as refused:
        load_app(str(path.parent / spec))
    assert said in str(refused.value)


def test_what_is_not_there_is_told(tmp_path: Path, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch) -> None:
    write_app(ONE, "cellar.py")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadApp, match=r"attic\.py not found"):
        load_app("attic.py")
    with pytest.raises(BadApp, match="module 'attic' not found"):
        load_app("attic")
    with pytest.raises(BadApp, match="an app must be given as"):
        load_app("./attic")


def test_an_error_in_the_file_names_its_line(write_app: WriteApp) -> None:
    path = write_app("\n\n1 / 0\n", "third.py")
    with pytest.raises(BadApp, match=r"third\.py, line 3"):
        load_app(str(path))
