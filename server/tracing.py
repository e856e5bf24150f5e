"""Spans of OpenTelemetry, where somebody collects them.

Nothing of OpenTelemetry is imported until tracing is turned on: by the setting ``otel_endpoint``,
or by OpenTelemetry's own environment variables where the extra ``otel`` is installed. Until then
:data:`NO_SPANS` stands in the place of everything, and store and index are the plain ones.

A span says what was done and how long it took, with names, kinds and counts; never what a document,
a variable or an event says.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from server.failures import OperatorError
from server.version import program_version

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

SERVICE: Final = "sessiongraph"

_TURNED_ON_BY: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class TracingUnavailable(OperatorError):
    """Tracing was asked for, and what it needs is not installed."""


class OperationSpan:
    """The span of one operation; code: how it ended."""

    __slots__ = ("code",)

    def __init__(self) -> None:
        self.code = ""


class Spans(Protocol):
    """Where spans go."""

    def operation(
        self, kind: str, name: str | None, prepared_s: float
    ) -> AbstractContextManager[OperationSpan]:
        """The span of one operation; ``prepared_s`` of it has passed for reading its document."""
        ...

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A part of the operation, which has parts of its own; in one task."""
        ...

    def leaf(self, name: str) -> AbstractContextManager[None]:
        """A part that has none, and may end in another task than it began in."""
        ...

    def close(self) -> None:
        """Hand over what was not handed over yet."""
        ...


class _Nowhere(Spans):
    @override
    def operation(
        self, kind: str, name: str | None, prepared_s: float
    ) -> AbstractContextManager[OperationSpan]:
        return nullcontext(OperationSpan())

    @override
    def stage(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    @override
    def leaf(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    @override
    def close(self) -> None:
        pass


NO_SPANS: Final[Spans] = _Nowhere()


class CollectedSpans(Spans):
    """Spans that a provider of OpenTelemetry collects."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer: Tracer = provider.get_tracer(SERVICE, program_version())

    @override
    @contextmanager
    def operation(self, kind: str, name: str | None, prepared_s: float) -> Iterator[OperationSpan]:
        """As in the conventions for GraphQL servers: ``graphql.operation.type`` and ``.name``.

        A subscription lasts, and has no parts: they would be as many as its frames.
        """
        from opentelemetry.trace import Status, StatusCode, set_span_in_context, use_span

        began = time.time_ns() - int(prepared_s * 1e9)
        attributes = {"graphql.operation.type": kind}
        if name is not None:
            attributes["graphql.operation.name"] = name
        span = self._tracer.start_span(f"graphql {kind}", attributes=attributes, start_time=began)
        reading = self._tracer.start_span(
            "graphql parse and validate", set_span_in_context(span), start_time=began
        )
        reading.end()
        ended = OperationSpan()
        try:
            if kind == "subscription":
                yield ended
            else:
                with use_span(span, record_exception=False, set_status_on_exception=False):
                    yield ended
        finally:
            span.set_attribute("sessiongraph.code", ended.code)
            if ended.code != "OK":
                span.set_status(Status(StatusCode.ERROR))
            span.end()

    @override
    def stage(self, name: str) -> AbstractContextManager[None]:
        return self._part(name, is_leaf=False)

    @override
    def leaf(self, name: str) -> AbstractContextManager[None]:
        return self._part(name, is_leaf=True)

    @override
    def close(self) -> None:
        self._provider.shutdown()

    @contextmanager
    def _part(self, name: str, *, is_leaf: bool) -> Iterator[None]:
        from opentelemetry.trace import get_current_span, use_span

        if not get_current_span().is_recording():
            yield
            return
        span = self._tracer.start_span(name)
        try:
            if is_leaf:
                yield
            else:
                with use_span(span, record_exception=False, set_status_on_exception=False):
                    yield
        finally:
            span.end()


def spans_to(endpoint: str) -> Spans:
    """Where spans go, by the setting and the environment.

    Raises:
        TracingUnavailable: an endpoint was set, and the extra is not installed.
    """
    if not endpoint and not any(os.environ.get(name) for name in _TURNED_ON_BY):
        return NO_SPANS
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        if not endpoint:
            return NO_SPANS
        raise TracingUnavailable(
            "otel_endpoint is set, and OpenTelemetry is not installed: pip install "
            "'sessiongraph[otel]'"
        ) from error
    resource = Resource.create({"service.name": SERVICE, "service.version": program_version()})
    provider = TracerProvider(resource=resource)
    # Without an address of ours the exporter takes its own from the environment.
    target = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=target)))
    return CollectedSpans(provider)
