"""The settings of a process: defaults that depend on each other, and errors that name the variable."""

import pytest

from plait.cli import invoke
from plait.model.errors import InvalidConfiguration
from plait.runtime.settings import Settings


@pytest.mark.parametrize(("lease", "beat"), [("5", 5 / 3), ("30", 10), ("60", 10)])
def test_the_heartbeat_follows_the_lease(monkeypatch: pytest.MonkeyPatch, lease: str, beat: float) -> None:
    monkeypatch.setenv("PLAIT_LEASE", lease)
    assert Settings().heartbeat_s == pytest.approx(beat)


def test_a_heartbeat_of_more_than_half_the_lease_is_refused() -> None:
    assert Settings(lease=5, heartbeat=2.5).heartbeat_s == 2.5
    with pytest.raises(
        InvalidConfiguration, match=r"PLAIT_HEARTBEAT must be at most half of PLAIT_LEASE \(5 s\), got 2.6 s"
    ):
        Settings(lease=5, heartbeat=2.6)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LEASE", "abc", "PLAIT_LEASE must be a number, got 'abc'"),
        ("LEASE", "0", "PLAIT_LEASE must be more than 0, got '0'"),
        (
            "DATABASE_URL",
            "http://x",
            "PLAIT_DATABASE_URL must be a Postgres URL, such as postgresql://user@host/database, got 'http://x'",
        ),
        ("LISTEN", "maybe", "PLAIT_LISTEN must be true or false, got 'maybe'"),
        ("API_PORT", "1.5", "PLAIT_API_PORT must be a whole number, got '1.5'"),
        ("API_PORT", "70000", "PLAIT_API_PORT must be at most 65535, got '70000'"),
        ("LOG_LEVEL", "loud", "PLAIT_LOG_LEVEL must be 'debug', 'info', 'warning' or 'error', got 'loud'"),
        ("TRUSTED_PROXIES", "x", "PLAIT_TRUSTED_PROXIES must be addresses or networks like 10.0.0.0/8, got 'x'"),
        (
            "KEEP_FAILED",
            "soon",
            "PLAIT_KEEP_FAILED must be a number of seconds, or text such as '10m' or '1h30m', got 'soon'",
        ),
    ],
)
def test_an_error_names_the_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(f"PLAIT_{name}", value)
    with pytest.raises(InvalidConfiguration) as caught:
        Settings()
    assert str(caught.value) == message


def test_an_error_names_the_argument_of_code_and_each_setting_once() -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        Settings(lease=-1, poll=0)
    assert str(caught.value) == "lease must be more than 0, got -1; poll must be more than 0, got 0"


def test_a_variable_that_must_be_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAIT_OIDC_ROLES", "ops")
    with pytest.raises(InvalidConfiguration, match=r"^PLAIT_OIDC_ROLES must be valid JSON: "):
        Settings()


def test_the_command_line_exits_with_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PLAIT_LEASE", "abc")
    assert invoke(["jobs", "list"]) == 2
    assert capsys.readouterr().err == "plait: PLAIT_LEASE must be a number, got 'abc'\n"


def test_an_option_with_another_servers_url_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["jobs", "list", "--url", "http://x"]) == 2
    assert capsys.readouterr().err == (
        "plait: url must be a Postgres URL, such as postgresql://user@host/database, got 'http://x'\n"
    )
