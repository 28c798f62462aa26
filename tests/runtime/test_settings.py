"""The settings of a process: defaults that depend on each other."""

import pytest
from pydantic import ValidationError

from plait.runtime.settings import Settings


@pytest.mark.parametrize(("lease", "beat"), [("5", 5 / 3), ("30", 10), ("60", 10)])
def test_the_heartbeat_follows_the_lease(monkeypatch: pytest.MonkeyPatch, lease: str, beat: float) -> None:
    monkeypatch.setenv("PLAIT_LEASE", lease)
    assert Settings().heartbeat_s == pytest.approx(beat)


def test_a_heartbeat_of_more_than_half_the_lease_is_refused() -> None:
    assert Settings(lease=5, heartbeat=2.5).heartbeat_s == 2.5
    with pytest.raises(
        ValidationError, match=r"PLAIT_HEARTBEAT must be at most half of PLAIT_LEASE \(5 s\), got 2.6 s"
    ):
        Settings(lease=5, heartbeat=2.6)
