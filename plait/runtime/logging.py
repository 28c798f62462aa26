"""Structured logs: one JSON object per line for machines, readable lines on a terminal. A job's text cannot break out of its field,
and secrets are redacted in all lines.

Lines that are logged within a handler, by plait, by structlog or by Python's `logging`, include the job and attempt. Both are looked up
when a line is logged, so a handler that logs nothing has no extra cost.
"""

import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, Literal

import structlog

from plait.model.redaction import hide, hide_in
from plait.model.texts import safely
from plait.runtime.secrets import learn_environment

learn_environment()  # before the first line

Logger = structlog.stdlib.BoundLogger

_PLAIN = (str, int, float, list, dict, type(None))
_about: list[Callable[[], dict[str, Any]]] = []
_copies: list[Callable[[MutableMapping[str, Any]], None]] = []


def configure(*, level: str = "info", form: Literal["auto", "json", "text"] = "auto") -> None:
    as_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    render: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        if as_text
        else structlog.processors.JSONRenderer(default=_in_words)
    )
    learn_environment()
    telling: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _tell_about,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*telling, without_secrets, _copy, render],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(_real(sys.stderr)),
        cache_logger_on_first_use=False,
    )
    _take_in_python_logging(level, telling, render)


def _take_in_python_logging(level: str, telling: list[Any], render: Any) -> None:
    """Format lines of Python's own `logging` the same way, unless the application has configured it."""
    root = logging.getLogger()
    if any(not isinstance(handler, OwnHandler) for handler in root.handlers):
        return
    handler = _Handler(_real(sys.stderr))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*telling, structlog.stdlib.ExtraAdder(), _name_component],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, without_secrets, render],
        )
    )
    root.handlers[:] = [*(one for one in root.handlers if not isinstance(one, _Handler)), handler]
    root.setLevel(getattr(logging, level.upper()))


class OwnHandler(logging.Handler):
    """A log handler of plait. It does not mean that the application has configured Python's `logging`."""


class _Handler(OwnHandler, logging.StreamHandler[Any]):
    """The handler that prints lines. It is replaced when logs are configured again."""


def _real(stream: Any) -> Any:
    """The stream itself, without the capture of job logs: lines that plait formats are captured before they are printed."""
    return getattr(stream, "plait_real", stream)


def get_logger(name: str) -> Any:
    return structlog.get_logger(component=name)


def tell_with_each_line(about: Callable[[], dict[str, Any]]) -> None:
    """Add the fields that `about` returns to each line."""
    _about.append(about)


def copy_each_line(to: Callable[[MutableMapping[str, Any]], None]) -> None:
    """Call `to` with the fields of each line that structlog prints, without secrets."""
    _copies.append(to)


def logs_at(level: int) -> bool:
    """Whether lines of this level are logged."""
    enabled = getattr(structlog.get_logger(), "is_enabled_for", None)
    return enabled is None or bool(enabled(level))


def _copy(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for to in _copies:
        to(event)
    return event


def _tell_about(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for about in _about:
        for name, value in about().items():
            event.setdefault(name, value)
    return event


def _name_component(logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event.setdefault("component", event["_record"].name if "_record" in event else getattr(logger, "name", "?"))
    return event


def without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The last processor: redact secrets in every line."""
    hidden: dict[str, Any] = hide_in(event)
    return {name: value if isinstance(value, _PLAIN) else _in_words(value) for name, value in hidden.items()}


def _in_words(value: Any) -> str:
    """Render a value of any other type as text."""
    return hide(safely(lambda: str(value), f"a value of type {type(value).__name__}"))
