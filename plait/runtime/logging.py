"""Logs: one JSON object a line for machines, readable lines on a terminal. What a job says never breaks out of its field."""

import logging
import sys
from typing import Any, Literal

import structlog

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
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def get_logger(name: str) -> Any:
    return structlog.get_logger(component=name)
