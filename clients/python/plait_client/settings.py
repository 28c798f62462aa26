"""Settings from arguments or the environment, validated before anything is sent."""

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
    """Settings of a client."""

    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    """Timeout of one request, in seconds."""
    retries: int = 4
    """Maximum number of retries of a request after no response, or after status 429, 502, 503 or 504."""

    def __post_init__(self) -> None:
        _refuse(self._faults())

    def _faults(self) -> list[str]:
        return [
            *_url_faults(self.url),
            *([] if re.fullmatch(r"[\x21-\x7e]+", self.key) else ["key: missing, or not a valid API key"]),
            *_number("timeout", self.timeout, 0.001, 3600),
            *_number("retries", self.retries, 0, 100),
        ]

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Self:
        """Read PLAIT_URL, PLAIT_KEY, PLAIT_TIMEOUT and PLAIT_RETRIES. Arguments take precedence."""
        values, faults = _read(environment, given, _CLIENT)
        for name in ("url", "key"):
            if name not in values:
                faults.append(f"{name}: missing; pass it, or set PLAIT_{name.upper()}")
        _refuse(faults)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of a worker."""

    queues: tuple[str, ...] = ("default",)
    concurrency: int = 10
    """Maximum number of handlers that run concurrently."""
    claim_limit: int | None = None
    """Maximum number of claimed jobs, including prefetched jobs. Default: `concurrency`."""
    lease: float = 30.0
    """Seconds without a heartbeat after which the worker is lost and its jobs are requeued."""
    heartbeat: float | None = None
    """Seconds between heartbeats, and therefore the longest delay before a cancellation takes effect. Default: a third of the lease."""
    wait: float = 20.0
    """Long polling: seconds that a claim waits at the server for jobs."""
    grace: float = 30.0
    """Graceful shutdown: seconds that running handlers have to finish."""

    def __post_init__(self) -> None:
        _refuse(
            [
                *([] if self.queues and all(self.queues) else ["queues: must have at least one name"]),
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
        """Read PLAIT_QUEUES (separated by commas), PLAIT_CONCURRENCY, PLAIT_LEASE and so on. Arguments take precedence."""
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
    faults = [f"{name}: unknown setting" for name in values if name not in readers]
    for name, reader in readers.items():
        text = environment.get(f"PLAIT_{name.upper()}")
        if name in values or not text:
            continue
        try:
            values[name] = reader(text)
        except ValueError:
            faults.append(f"PLAIT_{name.upper()}: must be of type {reader.__name__}, got {text!r}")
    return values, faults


def _url_faults(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return ["url: must be a URL like https://plait.example"]
    if not good or parts.username or parts.query or parts.fragment or not url.isprintable() or " " in url:
        return ["url: must be a URL like https://plait.example, without a query or a password"]
    return []


def _number(name: str, value: float, least: float, most: float) -> list[str]:
    return (
        []
        if not math.isnan(value) and least <= value <= most
        else [f"{name}: must be from {least} to {most}, got {value}"]
    )


def _refuse(faults: list[str]) -> None:
    if faults:
        raise InvalidSettings("; ".join(faults))
