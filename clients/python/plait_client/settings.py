"""Settings, from arguments or from the environment, checked before anything is sent."""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import urlsplit

from plait_client.errors import InvalidSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the server is, and how to speak to it."""

    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    """Seconds that one request may take."""
    retries: int = 4
    """How often a request is sent again after no answer, 429, 502, 503 or 504."""

    def __post_init__(self) -> None:
        _refuse(self._faults())

    def _faults(self) -> list[str]:
        return [
            *_url_faults(self.url),
            *(
                []
                if re.fullmatch(r"[\x21-\x7e]+", self.key)
                else ["key: it is missing, or has characters that no key has"]
            ),
            *_number("timeout", self.timeout, 0.001, 3600),
            *_number("retries", self.retries, 0, 100),
        ]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Self:
        """From PLAIT_URL, PLAIT_KEY, PLAIT_TIMEOUT and so on; what is given comes first."""
        values, faults = _read(environment, given, _CLIENT)
        for name in ("url", "key"):
            if name not in values:
                faults.append(f"{name}: give it, or set PLAIT_{name.upper()}")
        _refuse(faults)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker works."""

    queues: tuple[str, ...] = ("default",)
    concurrency: int = 10
    """How many handlers run at once."""
    claim_limit: int | None = None
    """How many jobs are held at most, those included that wait here for a free handler; None: as `concurrency`."""
    lease: float = 30.0
    """After so many seconds without a word from us our jobs are others'."""
    heartbeat: float | None = None
    """Seconds between heartbeats, and so the longest that a cancel takes to arrive; None: a third of the lease."""
    wait: float = 20.0
    """Seconds that a claim waits at the server for work."""
    grace: float = 30.0
    """Seconds that running handlers get when the worker is stopped."""

    def __post_init__(self) -> None:
        _refuse(
            [
                *([] if self.queues and all(self.queues) else ["queues: name at least one"]),
                *_number("concurrency", self.concurrency, 1, 1000),
                *_number("claim_limit", self.most_held, self.concurrency, 1000),
                *_number("lease", self.lease, 5, 3600),
                *_number("heartbeat", self.interval, 0.05, self.lease / 2),
                *_number("wait", self.wait, 0, 30),
                *_number("grace", self.grace, 0, 86_400),
            ]
        )

    @property
    def most_held(self) -> int:
        return self.concurrency if self.claim_limit is None else self.claim_limit

    @property
    def interval(self) -> float:
        return self.lease / 3 if self.heartbeat is None else self.heartbeat

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Self:
        """From PLAIT_QUEUES (with commas), PLAIT_CONCURRENCY, PLAIT_LEASE and so on; what is given comes first."""
        values, faults = _read(environment, given, _WORKER)
        _refuse(faults)
        return cls(**values)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_CLIENT: Final[dict[str, Callable[[str], Any]]] = {"url": str, "key": str, "timeout": float, "retries": int}
_WORKER: Final[dict[str, Callable[[str], Any]]] = {
    "queues": _names,
    "concurrency": int,
    "claim_limit": int,
    "lease": float,
    "heartbeat": float,
    "wait": float,
    "grace": float,
}


def _read(
    environment: Mapping[str, str] | None, given: Mapping[str, Any], readers: Mapping[str, Callable[[str], Any]]
) -> tuple[dict[str, Any], list[str]]:
    environment = os.environ if environment is None else environment
    values = {name: value for name, value in given.items() if value is not None}
    faults = [f"{name}: there is no such setting" for name in values if name not in readers]
    for name, reader in readers.items():
        text = environment.get(f"PLAIT_{name.upper()}")
        if name in values or not text:
            continue
        try:
            values[name] = reader(text)
        except ValueError:
            faults.append(f"PLAIT_{name.upper()}: {text!r} is no {reader.__name__}")
    return values, faults


def _url_faults(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ["url: it is no address"]
    if not good or parts.username or parts.query or parts.fragment or not url.isprintable() or " " in url:
        return ["url: an address like https://plait.example, without a query and without a password"]
    return []


def _number(name: str, value: float, least: float, most: float) -> list[str]:
    return [] if not math.isnan(value) and least <= value <= most else [f"{name}: from {least} to {most}, not {value}"]


def _refuse(faults: list[str]) -> None:
    if faults:
        raise InvalidSettings("; ".join(faults))
