"""What ``/metrics`` says of a server that did something."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from server.metrics import METRICS, metrics_table
from tests.server.processes import ROOT, RunningServer, serving

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(server: RunningServer) -> Series:
    status, headers, body = server.request("GET", "/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float:
    return series[f"sessiongraph_{name}", tuple(sorted(labels.items()))]


def until(server: RunningServer, holds: Callable[[Series], bool]) -> Series:
    """The first of 500 scrapes of which something holds."""
    return next(series for series in (scraped(server) for _ in range(500)) if holds(series))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> RunningServer:
    with serving(tmp_path_factory.mktemp("metrics") / "data") as running:
        yield running  # type: ignore[misc]


def test_operations_are_counted_by_kind_and_outcome_and_nothing_a_client_chose(
    server: RunningServer,
) -> None:
    before = scraped(server)
    for number in range(5):
        server.ask(f'query Number{number} {{ session(id: "none{number}") {{ id }} }}')
    server.ask('mutation Make { createSession(input: {id: "counted"}) { session { id } } }')
    server.ask('mutation { appendEvents(input: {sessionId: "no", events: []}) { session { id } } }')
    server.ask("{ nothing }")
    after = scraped(server)

    def more(**labels: str) -> float:
        key = ("sessiongraph_operations_total", tuple(sorted(labels.items())))
        return after[key] - before.get(key, 0)

    assert more(kind="query", code="OK") == 5
    assert more(kind="mutation", code="OK") == 1
    assert more(kind="unreadable", code="BAD_USER_INPUT") == 1
    refused = [
        dict(labels)["code"]
        for (name, labels), count in after.items()
        if name == "sessiongraph_operations_total"
        and ("kind", "mutation") in labels
        and count - before.get((name, labels), 0)
    ]
    assert len(refused) == 2
    assert value(after, "operation_seconds_count", kind="query") >= 5
    assert value(after, "operation_seconds_sum", kind="query") > 0
    chosen = [labels for _, labels in after if "Number" in str(labels) or "none" in str(labels)]
    assert chosen == []


def test_commits_and_the_index_are_counted(server: RunningServer) -> None:
    server.ask('mutation { createSession(input: {id: "stored"}) { session { id } } }')
    series = scraped(server)
    assert value(series, "commit_jobs_count") >= 1
    assert value(series, "commit_jobs_sum") >= value(series, "commit_jobs_count")
    assert 0 < value(series, "fsync_seconds_sum") <= value(series, "commit_seconds_sum")
    assert value(series, "live_sessions") >= 1
    assert value(series, "writer_queue", queue="urgent") >= 0
    assert value(series, "index_lag_commits") >= 0
    server.ask('{ searchEvents(sessionId: "stored", query: "word") { nodes { seq } } }')
    assert value(scraped(server), "index_lag_commits") == 0


def test_open_connections_and_followers_are_counted(server: RunningServer) -> None:
    server.ask('mutation { createSession(input: {id: "followed"}) { session { id } } }')
    address = f"ws{server.url.removeprefix('http')}/graphql"
    with connect(
        address,
        subprotocols=["graphql-transport-ws"],  # type: ignore[list-item]
        additional_headers=server.credentials,
        compression=None,
    ) as socket:
        socket.send('{"type": "connection_init"}')
        socket.recv()
        query = 'subscription { sessionEvents(sessionId: "followed") { seq } }'
        socket.send(json.dumps({"type": "subscribe", "id": "1", "payload": {"query": query}}))
        socket.send('{"type": "ping"}')
        assert socket.recv() == '{"type":"pong"}'
        series = until(server, lambda series: value(series, "followers") == 1)
        assert value(series, "connections", kind="websocket") == 1
        assert value(series, "running_operations", kind="subscription") == 1
    series = until(server, lambda series: not value(series, "connections", kind="websocket"))
    assert value(series, "followers") == 0
    assert value(series, "operations_total", kind="subscription", code="CANCELLED") >= 1


def test_every_metric_of_the_list_is_there_and_no_other_of_ours(server: RunningServer) -> None:
    server.ask("{ server { version } }")
    names = {name for name, _ in scraped(server) if name.startswith("sessiongraph_")}
    expected = set()
    for metric in METRICS:
        name = metric.shown_name
        histogram = metric.kind == "histogram"
        expected |= (
            {f"{name}_{part}" for part in ("bucket", "count", "sum")} if histogram else {name}
        )
    assert names == expected
    assert any(name == "process_open_fds" for name, _ in scraped(server))


def test_the_documented_list_is_the_one_of_the_code() -> None:
    document = (ROOT / "docs" / "operations.md").read_text("utf-8")
    assert metrics_table() in document, (
        "paste: python -c 'from server.metrics import *; print(metrics_table())'"
    )


def test_a_command_has_no_default_registry_of_ours(tmp_path: Path) -> None:
    from prometheus_client import REGISTRY

    assert not any(name.startswith("sessiongraph") for name in REGISTRY._names_to_collectors)
