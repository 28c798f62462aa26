"""When a fan-out has succeeded, and when it has failed. The database counts; here is only how many successes it takes."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from plait.model.errors import InvalidArguments
from plait.model.texts import shown

StrategyName = Literal["fail_fast", "collect_all", "threshold", "quorum"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """Made by `fail_fast()`, `collect_all()`, `threshold(p)` and `quorum(n)`."""

    name: StrategyName
    share: Fraction | None = None
    count: int | Literal["majority"] | None = None

    @property
    def early(self) -> bool:
        """Whether it has succeeded as soon as enough children have, and not only when all have ended."""
        return self.name == "quorum"

    def needed(self, total: int) -> int:
        """How many of so many children must succeed. It has failed as soon as that can't be reached any more."""
        match self.name:
            case "fail_fast":
                return total
            case "collect_all":
                return 0
            case "threshold":
                assert self.share is not None
                return math.ceil(self.share * total)
            case "quorum":
                assert self.count is not None
                needed = total // 2 + 1 if self.count == "majority" else self.count
                if needed > total and (total > 0 or self.count != "majority"):
                    raise InvalidArguments(f"a quorum of {needed} cannot be reached: there are {total} sub-jobs")
                return needed


def fail_fast() -> Strategy:
    """All must succeed: it fails at the first child that failed or was canceled."""
    return Strategy("fail_fast")


def collect_all() -> Strategy:
    """Wait for all, whatever becomes of them. It never fails."""
    return Strategy("collect_all")


def threshold(share: float) -> Strategy:
    """At least this share, from 0 to 1, must succeed, rounded up. Waits for all, and fails as soon as it can't be reached."""
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise InvalidArguments(f"threshold is a share between 0 and 1, like 0.9, not {shown(share)}")
    return Strategy("threshold", share=Fraction(repr(share)))  # as it was written: 0.1 of 30 is 3, not a bit more


def quorum(count: int | Literal["majority"]) -> Strategy:
    """So many must succeed: it goes on as soon as they have, and fails as soon as they can't."""
    if count != "majority" and (type(count) is not int or count < 1):
        raise InvalidArguments(f"quorum is a number of sub-jobs, at least 1, or 'majority', not {shown(count)}")
    return Strategy("quorum", count=count)
