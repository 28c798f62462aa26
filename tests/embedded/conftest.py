from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import eventually, postmasters


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory with a short path that any user may pass; no server outlives the test."""
    directory = Path(tempfile.mkdtemp(prefix="pl-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    try:
        eventually(lambda: not postmasters(directory))
    finally:
        shutil.rmtree(directory)
