"""Spans, if the application has configured OpenTelemetry: in its module, by `opentelemetry-instrument`, or by PLAIT_TRACES.

OpenTelemetry is not imported to check this: if no other code has imported it, it cannot be configured. The check is one dict lookup.
Spans contain ids, names, error types, and messages without secrets; never a payload or a result.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final
from uuid import UUID

from plait.model.errors import Outcome, PlaitError
from plait.model.redaction import hide
from plait.model.texts import message_of
from plait.model.traces import parsed, trace_of

NAME: Final = "plait"
MAX_MESSAGE: Final = 500


class NoOpenTelemetry(PlaitError):
    """PLAIT_TRACES=otlp requires OpenTelemetry: install plait[otel]."""


def configure(service: str) -> None:
    """Export spans by OTLP, as configured by OTEL_EXPORTER_OTLP_…, unless the application has configured something else."""
    if tracer() is not None:
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise NoOpenTelemetry from error
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def tracer() -> Any | None:
    """The application's tracer; None if the application has not configured tracing."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    return api.get_tracer(NAME)


def captured() -> str | None:
    """The `traceparent` of the current span, for jobs enqueued here; None outside of a trace, and in a trace that is not recorded."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    context = api.get_current_span().get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"


def span(name: str, *, outgoing: bool = False, **attributes: str | int) -> AbstractContextManager[Any]:
    """A child span of the current span: for a step or, if `outgoing`, for a request. Does nothing if tracing is not configured."""
    found = tracer()
    if found is None:
        return nullcontext()
    api = sys.modules["opentelemetry.trace"]
    return _span(found, name, api.SpanKind.CLIENT if outgoing else api.SpanKind.INTERNAL, None, attributes)


def run_span(
    found: Any, name: str, job_id: UUID, correlation_id: str | None, attributes: dict[str, str | int]
) -> AbstractContextManager[Any]:
    """The span of an attempt, in the trace of the caller that enqueued its job."""
    api = sys.modules["opentelemetry.trace"]
    trace_id, span_id, sampled = trace_of(job_id, correlation_id)
    if sampled is None:
        sampled = _would_sample(api, int(trace_id, 16), name)
    flags = api.TraceFlags(api.TraceFlags.SAMPLED if sampled else api.TraceFlags.DEFAULT)
    context = api.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)
    parent = api.set_span_in_context(api.NonRecordingSpan(context))
    return _span(found, name, api.SpanKind.CONSUMER, parent, attributes)


def tell_failed(opened: Any) -> None:
    """Mark a span as failed, without its error, which is recorded elsewhere."""
    opened.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR)


def accepted(header: str | None) -> str | None:
    """The `traceparent` of a request, if the trace is recorded."""
    found = parsed(header) if header else None
    return header if found is not None and found.sampled else None


def _would_sample(api: Any, trace_id: int, name: str) -> bool:
    """The decision of the application's sampler for a new trace: all attempts of a job share one trace and one decision."""
    sampler = getattr(api.get_tracer_provider(), "sampler", None)
    if sampler is None:
        return True
    from opentelemetry.context import Context

    return bool(sampler.should_sample(Context(), trace_id, name).decision.is_sampled())


@contextmanager
def _span(found: Any, name: str, kind: Any, parent: Any, attributes: Any) -> Iterator[Any]:
    api = sys.modules["opentelemetry.trace"]
    with found.start_as_current_span(
        name, context=parent, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as opened:
        try:
            yield opened
        except Outcome as steered:  # an outcome raised by the handler, not an error
            opened.set_attribute("plait.outcome", type(steered).__name__)
            raise
        except Exception as error:
            opened.set_attribute("error.type", type(error).__name__)
            opened.set_status(api.StatusCode.ERROR, hide(message_of(error, MAX_MESSAGE)))
            raise
