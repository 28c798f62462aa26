"""The log of one attempt: text that its handler prints or logs, as lines without secrets, within limits.

A handler never waits for its log. A line that cannot be stored is dropped and counted, and a line of plait's own says how many were.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec

from plait.model.redaction import hide, hide_in, hide_known
from plait.model.texts import MARGIN, clean, safely
from plait.store.logs import Level, LogEntry, Source

MAX_LINE: Final = 8_000
"""Characters of a line; a longer one is shortened in the middle."""
MAX_LINES, MAX_CHARACTERS = 10_000, 1_000_000
"""Limits of an attempt."""

_END: Final = MAX_LINE // 2 + MARGIN
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


class AttemptLog:
    """`put` takes an entry with its number; it returns False if there is no room for it now, unless it must be taken. May be used from any
    thread."""

    def __init__(self, put: Callable[[int, LogEntry, bool], bool], level: Level, lock: "threading.RLock") -> None:
        """The lock is reentrant: a signal handler or a finalizer may print while a line is added."""
        self._put = put
        self._level = LEVELS.index(level)
        self._lock = lock
        self._lines = self._characters = 0
        self._dropped = 0
        self._full = False
        self._begun: dict[Source, str] = {}
        """Text without a newline yet."""

    def add(
        self, level: Level, message: str, *, source: Source = "log", logger: str | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add a line, which may be text with newlines, such as a traceback."""
        if LEVELS.index(level) < self._level:
            return
        with self._lock:
            if self._full:
                self._dropped += 1
                return
        text = None if not fields else safely(lambda: _JSON.encode(hide_in(fields)).decode(), "")
        if text and len(text) > MAX_LINE:
            message, text = f"{message}\n{text}", None
        entry = LogEntry(time.monotonic(), level, source, logger and clean(logger, 100), _line(message), text or None)
        self.relay(entry)

    def write(self, source: Source, text: str) -> None:
        """Add printed text. A line is complete with its newline, or when the handler ends."""
        if self._level > LEVELS.index("info"):
            return
        text = hide(text) if "PRIVATE KEY-----" in text else hide_known(text)  # a secret may have several lines
        with self._lock:
            *lines, rest = (self._begun.get(source, "") + text).split("\n")
            if len(rest) > 4 * _END:
                rest = rest[:_END] + rest[-_END:]  # the line is shortened in the middle anyway
            self._begun[source] = rest.rpartition("\r")[2]  # a progress bar overwrites its line
            for at, line in enumerate(lines):
                if self._full:
                    self._dropped += len(lines) - at
                    break
                self.add("info", line.removesuffix("\r").rpartition("\r")[2], source=source)

    def relay(self, entry: LogEntry) -> None:
        """Add an entry that is complete and has no secrets."""
        with self._lock:
            if entry.source == "plait":  # the handler's own process has dropped lines, and counts them
                self._append(entry, must=True)
            elif self._full:
                self._dropped += 1
            elif self._lines >= MAX_LINES or self._characters + entry.size > MAX_CHARACTERS:
                self._report_dropped(must=True)
                self._full = True
                self._dropped += 1
                limits = f"{MAX_LINES:,} lines, {MAX_CHARACTERS:,} characters"
                self._append(
                    _about_drops(f"the log of this attempt is full ({limits}): later lines are dropped"), must=True
                )
            elif not (self._report_dropped() and self._append(entry)):
                self._dropped += 1

    def end(self) -> None:
        """The handler has ended, or waits: its last line may have no newline, and no later line reports the dropped ones."""
        with self._lock:
            begun, self._begun = self._begun, {}
            for source, text in begun.items():
                if text:
                    self.add("info", text, source=source)
            self._report_dropped(must=True)

    def _report_dropped(self, *, must: bool = False) -> bool:
        if not self._dropped:
            return True
        count = f"{self._dropped:,} {'line was' if self._dropped == 1 else 'lines were'} dropped"
        why = "the log is full" if self._full else "the worker could not store them fast enough"
        if not self._append(_about_drops(f"{count}: {why}"), must=must):
            return False
        self._dropped = 0
        return True

    def _append(self, entry: LogEntry, *, must: bool = False) -> bool:
        if not self._put(self._lines + 1, entry, must):
            return False
        self._lines += 1
        self._characters += entry.size
        return True


def _about_drops(message: str) -> LogEntry:
    return LogEntry(time.monotonic(), "warning", "plait", None, message, None)


def _line(message: str) -> str:
    return clean(_ESCAPES.sub("", message) if "\x1b" in message else message, MAX_LINE)


def _in_words(value: Any) -> str:
    return hide(safely(lambda: str.__str__(str(value)), f"a value of type {type(value).__name__}"))


_JSON: Final = msgspec.json.Encoder(enc_hook=_in_words)
