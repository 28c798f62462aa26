"""Logs: one JSON object a line for machines, readable lines on a terminal. What a job says never breaks out of its field."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

from plait.model.redaction import hide
from plait.runtime.secrets import learn_environment

learn_environment()  # before the first line

Logger = structlog.stdlib.BoundLogger


def configure(*, level: str = "info", form: Literal["auto", "json", "text"] = "auto") -> None:
    as_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    render: Any = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()) if as_text else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            without_secrets,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
    """The last word on what a line says, whoever said it. Not by the names of fields: those are ours."""
    return {key: hide(value) if isinstance(value, str) else _hidden(value) for key, value in event.items()}


def _hidden(value: Any) -> Any:
    """What is no text becomes some in the line: then it is looked at as such."""
    if value is None or isinstance(value, int | float):
        return value
    text = repr(value)
    return value if hide(text) == text else hide(text)


def get_logger(name: str) -> Any:
    return structlog.get_logger(component=name)
