"""The TypeScript client's own tests, and its generated and locked files."""

import importlib.util
import json
import re
import subprocess
from types import ModuleType

from ..project.source_files import ROOT, name_of
from .processes import TYPESCRIPT, node


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("client_types", ROOT / "scripts" / "client_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_clients_types_are_those_of_the_openapi_document() -> None:
    old = [name_of(path) for path, text in _generator().made().items() if path.read_text() != text]
    assert old == [], "run .venv/bin/python scripts/client_types.py"


def test_the_typescript_tests_pass() -> None:
    tests = sorted((TYPESCRIPT / "build/test").glob("*.test.js"))
    command = [node(), "--test", "--test-timeout=60000", *map(str, tests)]
    ran = subprocess.run(command, cwd=TYPESCRIPT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    [passed] = re.findall(r"# pass (\d+)", ran.stdout)
    assert int(passed) >= 30, "all of them were found"


def test_the_lock_names_no_host_and_the_package_needs_nothing_at_run_time() -> None:
    assert "://" not in (TYPESCRIPT / "package-lock.json").read_text()
    package = json.loads((TYPESCRIPT / "package.json").read_text())
    assert "dependencies" not in package
    locked = json.loads((TYPESCRIPT / "package-lock.json").read_text())["packages"]
    assert all(one.get("dev") and one["integrity"] for name, one in locked.items() if name)


def test_the_typescript_of_the_page_is_what_is_compiled() -> None:
    page = (ROOT / "docs/how-to/typescript.md").read_text()
    blocks = re.findall(r"^```typescript\n// (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == page.count("```typescript") == 3
    for name, text in blocks:
        assert (TYPESCRIPT / "examples" / name).read_text() == text, name
