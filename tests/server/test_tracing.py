"""Spans of OpenTelemetry: what there is of an operation, and nothing where nobody collects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from schema.operation import one_observation
from schema.served import build_schema
from server.data_directory import DataDirectory
from server.documents import Documents
from server.graphql_request import GraphQLRequest
from server.limits import DocumentLimits
from server.operation_records import OperationRecords
from server.operations import Operations
from server.refusals import OperationFailed
from server.settings import Settings
from server.tracing import NO_SPANS, CollectedSpans, TracingUnavailable, spans_to
from server.wiring import open_for_serving
from tests.server.processes import ROOT, clean_environment

MARKER = "xyzzy-marker-of-a-secret"


@asynccontextmanager
async def traced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Operations, InMemorySpanExporter]]:
    """The operations of a server whose spans are kept here."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("server.wiring.spans_to", lambda _: CollectedSpans(provider))
    directory = DataDirectory(path / "data")
    with directory.hold("test"):
        async with open_for_serving(Settings(data_dir=directory.path), directory) as services:
            documents = Documents(DocumentLimits(5000, 25, 200))
            yield (
                Operations(
                    build_schema(),
                    services.of_operations(),
                    documents,
                    context=one_observation,
                    records=OperationRecords(spans=services.spans),
                ),
                exporter,
            )


def tree(spans: tuple[ReadableSpan, ...]) -> set[tuple[str, str | None]]:
    """Each span with the name of the one that it is a part of."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    return {(span.name, names[span.parent.span_id] if span.parent else None) for span in spans}


async def asked(operations: Operations, query: str) -> None:
    operation = await operations.prepare(GraphQLRequest(query))
    await operation.answer()


def test_an_operation_has_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with traced(tmp_path, monkeypatch) as (operations, exporter):
            await asked(
                operations,
                f'mutation Make {{ createSession(input: {{id: "{MARKER}"}}) {{ session {{ id }} }} '
                f'renameSession(id: "{MARKER}", title: "{MARKER}") {{ session {{ id }} }} }}',
            )
            made = exporter.get_finished_spans()
            exporter.clear()
            await asked(
                operations,
                f'{{ searchSessions(query: "{MARKER}") {{ nodes {{ bestMatch {{ seq }} }} }} }}',
            )
            found = exporter.get_finished_spans()
        mutation, query = "graphql mutation", "graphql query"
        assert (mutation, None) in tree(made)
        assert ("graphql parse and validate", mutation) in tree(made)
        assert ("graphql execute", mutation) in tree(made)
        assert ("store commit", "graphql execute") in tree(made)
        assert {(query, None), ("store read", "graphql execute")} <= tree(found)
        assert ("index search", "graphql execute") in tree(found)
        (root,) = [span for span in made if span.name == mutation]
        assert dict(root.attributes or {}) == {
            "graphql.operation.type": "mutation",
            "graphql.operation.name": "Make",
            "sessiongraph.code": "OK",
        }
        assert MARKER not in "".join(span.to_json() for span in (*made, *found))

    asyncio.run(scenario())


def test_a_failed_operation_says_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with traced(tmp_path, monkeypatch) as (operations, exporter):
            query = "query ($id: ID!) { session(id: $id) { id } }"
            with pytest.raises(OperationFailed):
                await asked(operations, query)
            (root,) = [each for each in exporter.get_finished_spans() if each.parent is None]
            assert (root.attributes or {})["sessiongraph.code"] == "BAD_USER_INPUT"
            assert not root.status.is_ok

    asyncio.run(scenario())


def test_nothing_is_traced_and_nothing_of_it_imported_unless_it_is_turned_on() -> None:
    assert spans_to("") is NO_SPANS
    script = "import sys; import server.wiring; print([m for m in sys.modules if 'telemetry' in m])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=clean_environment(), cwd=ROOT
    )
    assert done.stdout.strip() == b"[]"


def test_the_variables_of_opentelemetry_turn_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    spans = spans_to("")
    assert spans is not NO_SPANS
    spans.close()


def test_an_endpoint_without_the_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(TracingUnavailable, match=r"sessiongraph\[otel\]"):
        spans_to("http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    assert spans_to("") is NO_SPANS


def test_spans_reach_a_collector(tmp_path: Path) -> None:
    """A real exporter, a real socket; what arrives is protobuf that names the operation."""
    import http.server
    import threading

    bodies: list[tuple[str, bytes]] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    from tests.server.processes import serving

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        environment = {
            "SESSIONGRAPH_OTEL_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        }
        try:
            with serving(tmp_path / "data", environment=environment) as server:
                server.post(json.dumps({"query": "query Traced { server { version } }"}))
                code, _, errors = server.stop()
        finally:
            collector.shutdown()
            thread.join()
    assert (code, [path for path, _ in bodies]) == (0, ["/v1/traces"]), errors
    assert b"graphql query" in bodies[0][1]
    assert b"Traced" in bodies[0][1]
