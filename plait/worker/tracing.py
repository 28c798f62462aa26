"""A span for each attempt. Handlers are wrapped only if tracing is enabled when the worker starts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from plait.model.states import AttemptOutcome
from plait.sdk.context import attempt
from plait.sdk.definition import Definition
from plait.telemetry.tracing import run_span, tell_failed
from plait.worker.outcomes import Finished
from plait.worker.processes import Processes
from plait.worker.run import Run


def traced(definitions: Mapping[str, Definition], tracer: Any) -> dict[str, Definition]:
    """The same definitions, each run within a span."""
    return {name: replace(one, function=_traced(one, tracer)) for name, one in definitions.items()}


def _traced(definition: Definition, tracer: Any) -> Callable[..., Any]:
    function = definition.function
    match definition.isolation:
        case "loop":

            async def on_loop(**arguments: Any) -> Any:
                with _span(tracer):
                    return await function(**arguments)

            return on_loop
        case "thread":

            def in_thread(**arguments: Any) -> Any:
                with _span(tracer):
                    return function(**arguments)

            return in_thread
        case "process":
            return function  # another process looks it up by name


class TracedProcesses(Processes):
    """This process reports the span of an attempt that runs in another process, so tracing need not be configured there."""

    def __init__(self, limit: int, tracer: Any) -> None:
        super().__init__(limit)
        self._tracer = tracer

    async def run(self, run: Run) -> Finished:
        with _of(run, self._tracer) as span:
            finished = await super().run(run)
            span.set_attribute("plait.outcome", finished.outcome.value)
            if finished.outcome in (AttemptOutcome.FAILED, AttemptOutcome.TIMEOUT):
                tell_failed(span)
            return finished


def _span(tracer: Any) -> Any:
    run = attempt()
    assert isinstance(run, Run)
    return _of(run, tracer)


def _of(run: Run, tracer: Any) -> Any:
    claimed = run.claimed
    attributes: dict[str, str | int] = {
        "messaging.system": "plait",
        "messaging.destination.name": claimed.queue,
        "plait.job_id": str(claimed.job_id),
        "plait.tenant_id": str(claimed.tenant_id),
        "plait.definition": claimed.definition,
        "plait.attempt": claimed.attempt,
    }
    return run_span(tracer, f"run {claimed.definition}", claimed.job_id, claimed.correlation_id, attributes)
