"""The build of the UI: it is repeated after changes, and fails with an error if its tools are missing."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from plait.api.site import PAGES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ui(tmp_path: Path) -> ModuleType:
    """scripts/ui.py, with sources and a target directory of the test."""
    spec = importlib.util.spec_from_file_location("ui", ROOT / "scripts" / "ui.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def apart(ui: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    source = tmp_path / "ui"
    (source / "src").mkdir(parents=True)
    (source / "src" / "main.tsx").write_text("1")
    (source / "package-lock.json").write_text("{}")
    monkeypatch.setattr(ui, "SOURCE", source)
    monkeypatch.setattr(ui, "BUILT", tmp_path / "static")
    monkeypatch.setattr(ui, "STAMP", tmp_path / "static" / ".made-from")
    return ui


def test_what_is_served_was_built_from_the_sources_that_are_there(ui: ModuleType) -> None:
    assert ui.STAMP.read_text() == ui.fingerprint(), "run `make ui`"


def test_a_change_of_the_sources_is_noticed_and_what_was_built_from_them_is_not(apart: ModuleType) -> None:
    before = apart.fingerprint()
    (apart.SOURCE / "dist").mkdir()
    (apart.SOURCE / "dist" / "main.js").write_text("1")
    assert apart.fingerprint() == before
    (apart.SOURCE / "src" / "main.tsx").write_text("2")
    assert apart.fingerprint() != before


def test_what_is_built_already_needs_no_node(apart: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    apart.BUILT.mkdir()
    (apart.BUILT / "index.html").write_text("")
    apart.STAMP.write_text(apart.fingerprint())
    monkeypatch.setattr(shutil, "which", lambda _: None)
    apart.build()


def test_without_node_there_is_no_ui_and_so_no_wheel(
    apart: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(apart.NoUi):
        apart.build()
    assert apart.main([]) == 1
    assert "needs Node" in capsys.readouterr().err
    assert not apart.BUILT.exists()


def test_every_address_of_the_ui_is_one_that_the_server_knows() -> None:
    router = (ROOT / "ui" / "src" / "router.tsx").read_text()
    addresses = re.findall(r'(?:page\(|path: )"/([^"/]*)', router)
    assert set(addresses) == {"", *PAGES}
