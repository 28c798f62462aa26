"""When a fan-out has succeeded or failed. The database counts; this module computes how many successes are needed."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from plait.model.errors import InvalidArguments
from plait.model.texts import shown

StrategyName = Literal["fail_fast", "collect_all", "threshold", "quorum"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """Created by `fail_fast()`, `collect_all()`, `threshold(p)` and `quorum(n)`."""

    name: StrategyName
    share: Fraction | None = None
    count: int | Literal["majority"] | None = None

    @property
    def early(self) -> bool:
        """Whether the fan-out succeeds as soon as enough children have succeeded, without waiting for the others."""
        return self.name == "quorum"

    def needed(self, total: int) -> int:
        """How many of `total` children must succeed. The fan-out fails as soon as that is impossible."""
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
    """All sub-jobs must succeed. The fan-out fails as soon as one fails or is canceled."""
    return Strategy("fail_fast")


def collect_all() -> Strategy:
    """Wait for all sub-jobs. The fan-out never fails."""
    return Strategy("collect_all")


def threshold(share: float) -> Strategy:
    """At least this share of the sub-jobs, from 0 to 1, must succeed; their number is rounded up. Waits for all sub-jobs, but fails as soon
    as the share cannot be reached."""
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise InvalidArguments(f"threshold must be between 0 and 1, such as 0.9, got {shown(share)}")
    return Strategy("threshold", share=Fraction(repr(share)))  # from its decimal form: 0.1 of 30 is exactly 3


def quorum(count: int | Literal["majority"]) -> Strategy:
    """This many sub-jobs must succeed. The job resumes as soon as they have, and the fan-out fails as soon as the number cannot be reached."""
    if count != "majority" and (type(count) is not int or count < 1):
        raise InvalidArguments(f"quorum must be a number of sub-jobs of at least 1, or 'majority', got {shown(count)}")
    return Strategy("quorum", count=count)
