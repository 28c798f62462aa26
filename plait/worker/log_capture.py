"""Captures text that handlers print or log, while workers run in this process: `print`, `logging`, structlog and `current().logger`.

Everything still goes where it went before. A line belongs to the attempt in whose context it is printed or logged; all others are only
passed on. A failure here must not fail a job, so every capture is guarded.
"""

import contextlib
import inspect
import logging
import sys
import threading
from collections.abc import Callable, MutableMapping
from types import FrameType
from typing import Any, Final

from plait.runtime.logging import OwnHandler, copy_each_line
from plait.sdk.context import running_attempt
from plait.store.logs import Level, Source
from plait.worker.attempt_log import LEVELS, AttemptLog

_STREAMS: Final[tuple[tuple[str, Source], ...]] = (("stdout", "stdout"), ("stderr", "stderr"))
_MARK: Final = "_plait_captured"
_PLAIN_RECORD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", _MARK}
_ABOUT: Final = frozenset(
    {
        "event", "level", "timestamp", "component", "exception",
        "job_id", "tenant_id", "definition", "attempt", "worker_id", "trace_id",
    }
)  # fmt: skip
"""Fields of a structlog line that the stored line has anyway."""
_formatter: Final = logging.Formatter()


class _Capture:
    """The capture of this process. Several workers share it."""

    def __init__(self) -> None:
        self.users = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self.users += 1
            if self.users == 1:
                for name, source in _STREAMS:
                    if getattr(sys, name) is not None:  # a process without a console has none
                        setattr(sys, name, _Tee(getattr(sys, name), source))
                logging.getLogger().addHandler(_handler)

    def end(self) -> None:
        with self._lock:
            self.users -= 1
            if self.users == 0:
                logging.getLogger().removeHandler(_handler)
                for name, _ in _STREAMS:
                    if isinstance(stream := getattr(sys, name), _Tee):  # otherwise it was replaced meanwhile
                        setattr(sys, name, stream.plait_real)


def capture() -> Callable[[], None]:
    """Capture from now on; returns a function that undoes it."""
    _capture.begin()
    return _capture.end


def _log() -> AttemptLog | None:
    running = running_attempt()
    found: AttemptLog | None = None if running is None else running.log()
    return found


class _Tee:
    """stdout or stderr: text is written to the real stream first."""

    def __init__(self, real: Any, source: Source) -> None:
        self.plait_real = real
        self._source: Source = source

    def write(self, text: str) -> int:
        written: int = self.plait_real.write(text)
        if running_attempt() is not None:
            with contextlib.suppress(Exception):
                self._capture(text, inspect.currentframe())
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plait_real, name)

    def _capture(self, text: str, frame: FrameType | None) -> None:
        caller = None if frame is None else frame.f_back
        if caller is not None and caller.f_globals.get("__name__") == "logging":
            record = caller.f_locals.get("record")
            if isinstance(
                record, logging.LogRecord
            ):  # printed by a handler of the application: one line, with its level
                _capture_record(record)
                return
        log = _log()
        if log is not None:
            log.write(self._source, text)


class _RootHandler(OwnHandler):
    def emit(self, record: logging.LogRecord) -> None:
        if running_attempt() is not None:
            with contextlib.suppress(Exception):
                _capture_record(record)
        last = logging.lastResort
        # Python prints warnings if there is no handler at all. This handler must not change that.
        if last is not None and record.levelno >= last.level and logging.getLogger().handlers == [self]:
            last.handle(record)


_handler: Final = _RootHandler()
_capture: Final = _Capture()


def _capture_record(record: logging.LogRecord) -> None:
    log = _log()
    if log is None or getattr(record, _MARK, False):
        return
    setattr(record, _MARK, True)
    message = record.getMessage()
    if record.exc_info:
        message += "\n" + _formatter.formatException(record.exc_info)
    if record.stack_info:
        message += "\n" + record.stack_info
    fields = {name: value for name, value in vars(record).items() if name not in _PLAIN_RECORD}
    log.add(_level(record.levelno), message, logger=record.name, fields=fields)


def _capture_structlog(event: MutableMapping[str, Any]) -> None:
    with contextlib.suppress(Exception):
        log = _log()
        if log is None or not _capture.users:
            return
        message = str(event.get("event", ""))
        if event.get("exception"):
            message += f"\n{event['exception']}"
        level = event.get("level")
        fields = {name: value for name, value in event.items() if name not in _ABOUT}
        log.add(level if level in LEVELS else "info", message, logger=event.get("component"), fields=fields)


copy_each_line(_capture_structlog)


def _level(number: int) -> Level:
    return LEVELS[min(max(number // 10, 1), len(LEVELS)) - 1]
