"""Traces: from the request that enqueued to the attempt that ran; no spans if tracing is not configured."""

import sys
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode

from plait import Backoff, JobFailed, JobSkipped, Plait, Skip, call, current
from plait.model.traces import parsed, trace_of, traceparent
from plait.telemetry import tracing
from plait.worker.tracing import traced
from plait.worker.worker import Worker

from ..api.api_client import ApiClient
from ..harness import Harness
from ..worker import isolated
from ..worker.conftest import Running

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def named(spans: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name == name]


def hex_trace(span: ReadableSpan) -> str:
    return f"{span.context.trace_id:032x}"


async def test_a_run_is_in_the_trace_of_whoever_enqueued_it_and_so_are_its_steps_and_what_it_asks_for(
    app: Plait, running: Running, spans: InMemorySpanExporter
) -> None:
    async def work() -> int:
        return 1

    @app.job
    async def second() -> str:
        return current().trace_id

    @app.job
    async def first() -> str:
        await call(work, name="count")
        await second.enqueue()
        return current().trace_id

    with trace.get_tracer("web").start_as_current_span("GET /order") as request:
        handle = await first.enqueue()
    async with running(app):
        told = await handle.result(timeout=120)
        [second_job] = await (await app.store()).jobs.list_jobs(definition="second", all_tenants=True)
        await app.handle(second_job.id).result(timeout=120)
    [one], [two] = named(spans, "run first"), named(spans, "run second")
    assert request.get_span_context().trace_id == one.context.trace_id == two.context.trace_id
    assert told == hex_trace(one), "the handler sees the same trace"
    assert one.parent is not None
    assert one.parent.span_id == request.get_span_context().span_id
    assert one.kind is SpanKind.CONSUMER
    assert two.parent is not None
    assert two.parent.span_id == one.context.span_id, "jobs that it enqueued are its children"
    [step] = named(spans, "step count")
    assert step.parent is not None
    assert step.parent.span_id == one.context.span_id
    assert one.attributes is not None
    assert one.attributes["plait.job_id"] == str(handle.id)
    assert one.attributes["plait.attempt"] == 1


async def test_each_attempt_is_a_span_and_says_how_it_failed(
    app: Plait, running: Running, spans: InMemorySpanExporter
) -> None:
    tries = 0

    @app.job(retries=1, backoff=Backoff(base=0.01))
    def flaky() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ValueError("password=hunter2-canary")
        raise Skip("there is nothing to do")

    handle = await flaky.enqueue()
    async with running(app):
        with pytest.raises(JobSkipped):
            await handle.result(timeout=120)
    failed, skipped = named(spans, "run flaky")
    assert failed.context.trace_id == skipped.context.trace_id, "a job is one trace"
    assert hex_trace(failed) == trace_of(handle.id).trace_id, "and anybody can work it out"
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "ValueError"
    assert "hunter2" not in failed.to_json()
    assert skipped.status.status_code is StatusCode.UNSET


async def test_handlers_are_left_as_they_are_where_nobody_records(app: Plait) -> None:
    """Costs nothing: not a wrapper, not a look, for a job."""

    @app.job
    async def plain() -> None: ...

    assert tracing.tracer() is None
    assert tracing.captured() is None
    assert Worker(app)._definitions is app.definitions
    assert traced(app.definitions, object())["plain"].function is not app.definitions["plain"].function


def test_what_has_not_imported_opentelemetry_is_not_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert tracing.tracer() is None
    assert tracing.captured() is None
    with tracing.span("nothing"):
        pass
    assert "opentelemetry.trace" not in sys.modules


def test_the_applications_sampler_decides_once_for_all_attempts_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(0.25)), shutdown_on_exit=False)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    found = tracing.tracer()
    recorded = 0
    for _ in range(400):
        job = uuid4()
        answers = set()
        for attempt in (1, 2):
            with tracing.run_span(found, "run x", job, None, {"plait.attempt": attempt}) as span:
                answers.add(span.is_recording())
        assert len(answers) == 1
        recorded += answers.pop()
    assert 50 < recorded < 160, "about a quarter"
    with tracing.run_span(found, "run x", uuid4(), CALLER, {}) as span:
        assert span.is_recording(), "the enqueuing trace is recorded"
    with tracing.run_span(found, "run x", uuid4(), CALLER[:-1] + "0", {}) as span:
        assert not span.is_recording()
    provider.shutdown()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        CALLER.upper(),
        "ff" + CALLER[2:],
        CALLER + "\n",
        CALLER + "-x",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'0' * 16}-01",
    ],
)
def test_what_is_no_traceparent_is_not_taken_for_one(text: str) -> None:
    assert parsed(text) is None
    assert tracing.accepted(text) is None


def test_a_traceparent_is_as_w3c_says_whatever_the_correlation_id_is() -> None:
    job = uuid4()
    for correlation_id in (None, "order-17", "\udce4", CALLER):
        found = parsed(traceparent(job, 3, correlation_id))
        assert found is not None
        assert found.trace_id == trace_of(job, correlation_id).trace_id
    assert parsed(traceparent(job, 1, CALLER)) != parsed(CALLER), "an attempt is a span of its own"
    assert trace_of(job, CALLER).trace_id == CALLER[3:35]


async def test_a_request_with_a_traceparent_hands_it_to_its_job(api: ApiClient, harness: Harness) -> None:
    await harness.define("add")
    caller = await api.acting()

    async def correlation(traceparent: str, **body: Any) -> str | None:
        answer = await caller.post("/jobs", {"definition_key": "add", **body}, headers={"traceparent": traceparent})
        job: dict[str, Any] = await caller.ok("GET", f"/jobs/{answer.json()['id']}")
        found: str | None = job["correlation_id"]
        return found

    assert await correlation(CALLER) == CALLER
    assert await correlation(CALLER, correlation_id="mine") == "mine"
    assert await correlation(CALLER[:-1] + "0") is None, "nobody records it"
    assert await correlation("x" * 55) is None


async def test_an_attempt_in_a_process_of_its_own_is_a_span_too(
    app: Plait, running: Running, spans: InMemorySpanExporter
) -> None:
    isolated.app.target = app.target
    async with running(isolated.app, processes=1):
        await (await isolated.pid_of.enqueue()).result(timeout=120)
        with pytest.raises(JobFailed):
            await (await isolated.fails.enqueue()).result(timeout=120)
    [succeeded], [failed] = named(spans, "run pid_of"), named(spans, "run fails")
    assert succeeded.attributes is not None
    assert succeeded.attributes["plait.outcome"] == "succeeded"
    assert failed.status.status_code is StatusCode.ERROR
    await isolated.app.close()
