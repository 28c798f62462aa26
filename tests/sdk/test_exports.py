"""What `import plait` offers."""

import subprocess
import sys

import plait


def test_what_is_exported_is_there_and_says_where_it_lives() -> None:
    assert sorted(plait.__all__) == sorted(plait._HOME) == plait.__all__
    for name in plait.__all__:
        assert getattr(plait, name).__module__ == plait._HOME[name]


def test_an_import_of_the_package_loads_nothing_else() -> None:
    """The keeper of embedded Postgres imports it too, and must stay small."""
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
