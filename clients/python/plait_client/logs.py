"""Structured logs: one JSON object per line, with the same field names as plait's workers."""

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Sink = Callable[[str, str, Mapping[str, Any]], None]


def to_stderr(level: str, event: str, fields: Mapping[str, Any]) -> None:
    sys.stderr.write(line(level, event, fields) + "\n")
    sys.stderr.flush()


def line(level: str, event: str, fields: Mapping[str, Any]) -> str:
    """Format a log entry as one line of JSON. Fields that can't be serialized are replaced."""
    head = {"timestamp": datetime.now(UTC).isoformat(), "level": level, "event": event}
    try:
        return json.dumps({**fields, **head}, default=repr)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({**head, "fields": "not serializable as JSON"})


@dataclass(frozen=True, slots=True)
class Logger:
    sink: Sink
    fields: Mapping[str, Any] = field(default_factory=dict)

    def bind(self, **fields: Any) -> "Logger":
        return Logger(self.sink, {**self.fields, **fields})

    def debug(self, event: str, **fields: Any) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        with contextlib.suppress(Exception):  # a failing log sink must not stop the worker (T44)
            self.sink(level, event, {**self.fields, **fields})
