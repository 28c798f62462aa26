"""The exports of `import plait`."""

import subprocess
import sys

import pytest

import plait


def test_every_exported_name_is_there_and_others_are_not() -> None:
    names: list[str] = getattr(plait, "__all__")  # noqa: B009 - created on first use, so type checkers don't know it
    assert {"Plait", "Job", "Handle", "PlaitError", "call", "fan_out", "sleep"} <= set(names)
    for name in names:
        assert getattr(plait, name).__module__.startswith("plait.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        plait.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_star_import_has_the_interface_and_no_more() -> None:
    names: dict[str, object] = {}
    exec("from plait import *", names)
    assert set(names) - {"__builtins__"} == set(getattr(plait, "__all__"))  # noqa: B009


def test_an_import_of_the_package_loads_nothing_else() -> None:
    """The command line imports the package first, and must start quickly."""
    code = (
        "import plait, sys; print([m for m in ('asyncpg', 'msgspec', 'pydantic', 'plait.sdk.app') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_using_the_sdk_imports_no_driver_but_its_own() -> None:
    code = (
        "import plait, sys; plait.Plait('postgresql://x/'); "
        "print([m for m in ('psycopg', 'psycopg2', 'sqlalchemy', 'django', 'hypothesis') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
