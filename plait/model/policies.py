"""Retry policies and limits: the value types that a definition contains."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from plait.model.durations import seconds
from plait.model.errors import InvalidDefinition
from plait.model.texts import shown

QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}", re.ASCII)
"""The same rule as `plait._is_queue_name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential backoff: the delay before the next attempt is `min(base * factor^(n-1), max)` seconds, ± `jitter`."""

    base: float | str = 1.0
    factor: float = 2.0
    max: float | str = 3600.0
    jitter: float = 0.2

    def pause_s(self, number: int) -> float:
        """The delay before this retry, numbered from 1, without jitter."""
        longest = seconds(self.max)
        try:
            return float(min(seconds(self.base) * self.factor ** (number - 1), longest))
        except OverflowError:
            return longest

    def __post_init__(self) -> None:
        if seconds(self.max, what="backoff max") < seconds(self.base, what="backoff base"):
            raise InvalidDefinition(
                f"backoff max must be at least backoff base ({shown(self.base)}), got {shown(self.max)}"
            )
        for name, value, low, high in (("factor", self.factor, 1, 100), ("jitter", self.jitter, 0, 1)):
            if type(value) not in (int, float) or not low <= value <= high:
                raise InvalidDefinition(f"backoff {name} must be a number between {low} and {high}, got {shown(value)}")


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate limit: at most `count` starts within any `period` (a sliding window). After an idle period, up to `count` jobs may start at once."""

    count: int
    period: float | str = 1.0

    def __post_init__(self) -> None:
        if type(self.count) is not int or not 1 <= self.count <= 2**31 - 1:
            raise InvalidDefinition(f"a rate's count must be between 1 and {2**31 - 1}, got {shown(self.count)}")
        if seconds(self.period, what="a rate's period") <= 0:
            raise InvalidDefinition(f"a rate's period must be more than 0, got {shown(self.period)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a definition: for all its jobs together, and per limit key."""

    max_running: int | None = None
    rate: Rate | None = None
    key_max_running: int | None = None
    key_rate: Rate | None = None

    def __post_init__(self) -> None:
        for name in ("max_running", "key_max_running"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value <= 2**31 - 1):
                raise InvalidDefinition(
                    f"{name} must be a whole number of at least 1 and at most {2**31 - 1}, got {shown(value)}"
                )
        for name in ("rate", "key_rate"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Rate):
                raise InvalidDefinition(f"{name} must be a Rate, such as Rate(10, '1m'), got {shown(value)}")


ChildMode = Literal["concurrent", "serial"]
OnChildFailure = Literal["continue", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """How a job's spawned children run: concurrently or serially; whether a failure stops the children that have not started; whether
    children may spawn children; whether running children are canceled when the parent fails."""

    mode: ChildMode = "concurrent"
    on_failure: OnChildFailure = "continue"
    allow_nested: bool = True
    cancel_on_parent_failure: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("concurrent", "serial"):
            raise InvalidDefinition(f"child_mode must be concurrent or serial, got {shown(self.mode)}")
        if self.on_failure not in ("continue", "stop"):
            raise InvalidDefinition(f"on_child_failure must be continue or stop, got {shown(self.on_failure)}")
        for name in ("allow_nested", "cancel_on_parent_failure"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidDefinition(f"{name} must be True or False, got {shown(getattr(self, name))}")


OnTimeout = Literal["proceed", "fail"]
OnNodeFailure = Literal["fail", "tolerate"]
NODE_NAME: Final = QUEUE_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePolicy:
    """When the nodes of a node job are done: the quorum, its timeout, and the effect of late and failed nodes."""

    on_node: str | None = None
    """The definition that runs on each node; None if only the leader acts."""
    on_leader: bool = False
    quorum: int | Literal["majority", "all"] = "majority"
    quorum_timeout: float | str = 10.0
    on_timeout: OnTimeout = "proceed"
    on_node_failure: OnNodeFailure = "fail"

    def __post_init__(self) -> None:
        if self.quorum not in ("majority", "all") and not (type(self.quorum) is int and 1 <= self.quorum <= 999_999):
            raise InvalidDefinition(
                f"quorum must be 'majority', 'all' or a number of nodes of at least 1, got {shown(self.quorum)}"
            )
        if seconds(self.quorum_timeout, what="quorum_timeout") <= 0:
            raise InvalidDefinition(f"quorum_timeout must be more than 0, got {shown(self.quorum_timeout)}")
        if self.on_timeout not in ("proceed", "fail"):
            raise InvalidDefinition(f"on_timeout must be proceed or fail, got {shown(self.on_timeout)}")
        if self.on_node_failure not in ("fail", "tolerate"):
            raise InvalidDefinition(f"on_node_failure must be fail or tolerate, got {shown(self.on_node_failure)}")
