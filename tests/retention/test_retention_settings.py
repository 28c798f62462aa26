"""The retention settings of a process."""

from datetime import timedelta

import pytest

from plait.model.errors import InvalidConfiguration
from plait.runtime.settings import Settings
from plait.store.leader import Retention


def test_retention_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIT_KEEP_SUCCEEDED", "12h")
    monkeypatch.setenv("PLAIT_KEEP_FAILED", "forever")
    monkeypatch.setenv("PLAIT_KEEP_CANCELED", "60")
    kept = Retention(**Settings().retention())
    assert kept == Retention(
        succeeded=timedelta(hours=12), failed=None, canceled=timedelta(minutes=1), skipped=timedelta(days=7)
    )


def test_the_defaults_are_those_of_the_duty() -> None:
    assert Retention(**Settings().retention()) == Retention()


@pytest.mark.parametrize("bad", ["soon", "-1d", ""])
def test_an_age_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    """T107: never interpreted as "delete immediately"."""
    monkeypatch.setenv("PLAIT_KEEP_SUCCEEDED", bad)
    with pytest.raises(InvalidConfiguration):
        Settings()
