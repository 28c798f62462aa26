"""Imports point down only, every package has its layer, and no two modules import each other."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

from .source_files import ROOT


def test_the_import_contracts_hold() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run(
        [lint_imports, "--config", "pyproject.toml", "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_package_has_its_layer() -> None:
    """import-linter says nothing about a package that no layer names."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layered = {
        package.strip()
        for contract in contracts
        if contract["type"] == "layers" and contract["containers"] == ["plait"]
        for layer in contract["layers"]
        for package in layer.split("|")
    }
    assert grimp_graph().find_children("plait") - {"plait.__main__"} == {f"plait.{name}" for name in layered}


def test_no_modules_import_each_other() -> None:
    graph = grimp_graph()
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert cycle_in(imports) == []


def test_a_cycle_is_found_and_named() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == {"b", "c"}


def grimp_graph() -> grimp.ImportGraph:
    """Imports inside functions and under TYPE_CHECKING count: they hide a cycle and do not undo it."""
    return grimp.build_graph("plait", cache_dir=None)


def cycle_in(imports: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []
