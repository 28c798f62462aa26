"""The supported Postgres versions, and the paths of their programs on this machine."""

import importlib.util
from pathlib import Path

import pytest

from plait.embedded import postgres_binaries

VERSIONS = (15, 16, 18)
"""The oldest that is supported, the first with the newer rules of CREATEROLE, and the newest."""


def programs(version: int) -> Path:
    """The directory of a version's programs; skips the test where this machine has none."""
    wheel = importlib.util.find_spec(postgres_binaries.WHEEL)
    roots = [Path(root) for root in (wheel.submodule_search_locations or () if wheel else ())]
    places = [
        *(root / f"pginstall{version}" / "bin" for root in roots),
        # The wheel's plain directory holds what its maker began with: 16.
        *(root / "pginstall" / "bin" for root in roots),
        Path(f"/usr/lib/postgresql/{version}/bin"),
        Path(f"/usr/pgsql-{version}/bin"),
        Path(f"/opt/homebrew/opt/postgresql@{version}/bin"),
    ]
    for place in places:
        if (place / "postgres").exists() and postgres_binaries.find(place).version == version:
            return place
    pytest.skip(f"no Postgres {version} on this machine: looked in {', '.join(map(str, places))}")
