"""One figure of one system, and the median over several rounds."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    measure: str
    system: str
    value: float | None
    """None if the measurement failed; `settings["missing"]` has the reason."""
    unit: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rounds: tuple[float, ...] = ()


def medians(rows: Sequence[Row]) -> list[Row]:
    """One row for each measure and system, in the order of their first appearance."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.measure, row.system), []).append(row)
    return [_median(group) for group in groups.values()]


def _median(group: Sequence[Row]) -> Row:
    values = [row.value for row in group if row.value is not None]
    last = next((row for row in reversed(group) if row.value is not None), group[-1])
    return Row(
        measure=last.measure,
        system=last.system,
        value=statistics.median(values) if values else None,
        unit=last.unit,
        settings=last.settings,
        rounds=tuple(values),
    )
