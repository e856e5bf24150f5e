"""What the server counts, as Prometheus reads it.

Nobody is told when something happens: each part counts for itself, in plain numbers, and a scrape
goes round and reads them. So a part knows nothing of Prometheus, and what nobody asks for costs
nothing. Labels are kinds and public codes, never a name or an id that somebody chose, so that the
number of series has a bound.

:data:`METRICS` is the list that ``docs/operations.md`` shows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector
from typing_extensions import override

from server.open_streams import OpenStreams
from server.operations import Operations
from server.version import program_version
from server.wiring import Services
from sessiongraph.distribution import Distribution

_PREFIX: Final = "sessiongraph_"

Family: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
Labels: TypeAlias = tuple[str, ...]
Value: TypeAlias = float | Distribution
Values: TypeAlias = Value | Mapping[Labels, Value]


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is counted.

    name: without the prefix of ours. kind: counter, gauge or histogram.
    """

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def shown_name(self) -> str:
        """The name that a query of Prometheus begins with."""
        return f"{_PREFIX}{self.name}" + ("_total" if self.kind == "counter" else "")

    def family(self, values: Values) -> Family:
        """The metric with its values, one for each combination of labels."""
        given = values if isinstance(values, Mapping) else {(): values}
        name = f"{_PREFIX}{self.name}"
        if self.kind == "histogram":
            histogram = HistogramMetricFamily(name, self.help, labels=self.labels)
            for labels, value in given.items():
                assert isinstance(value, Distribution)
                bounds = [*map(str, map(float, value.bounds)), "+Inf"]
                histogram.add_metric(
                    labels, list(zip(bounds, map(float, value.up_to()), strict=True)), value.total
                )
            return histogram
        make = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        family = make(name, self.help, labels=self.labels)
        for labels, value in given.items():
            assert not isinstance(value, Distribution)
            family.add_metric(labels, value)
        return family


METRICS: Final = (
    Metric("info", "gauge", "Always 1; the version is its label.", ("version",)),
    Metric(
        "operations",
        "counter",
        "Operations that have ended, by kind and code: OK, CANCELLED, or the code of the error.",
        ("kind", "code"),
    ),
    Metric(
        "operation_seconds",
        "histogram",
        "Time from reading the document to the whole answer, of queries and mutations.",
        ("kind",),
    ),
    Metric("running_operations", "gauge", "Operations that run, by kind.", ("kind",)),
    Metric("connections", "gauge", "WebSockets and streams of events that are open.", ("kind",)),
    Metric("followers", "gauge", "Subscriptions that follow the events of a session."),
    Metric(
        "follower_refeeds",
        "counter",
        "Pages of the store that were given to followers who were too slow for the ring.",
    ),
    Metric("writer_queue", "gauge", "Jobs that wait for the writer, by urgency.", ("queue",)),
    Metric("commit_jobs", "histogram", "Jobs that were committed together."),
    Metric("commit_seconds", "histogram", "Time of a transaction, waiting for the disk included."),
    Metric("fsync_seconds", "histogram", "Time of its COMMIT, which waits for the disk."),
    Metric("commit_failures", "counter", "Transactions that the disk refused."),
    Metric("store_observations", "gauge", "Read transactions of the store that are open."),
    Metric("live_sessions", "gauge", "Sessions that are written to through this server."),
    Metric("unwritten_bytes", "gauge", "Of live sessions, what is not on disk yet."),
    Metric("sessions", "gauge", "Sessions that are stored."),
    Metric("events", "gauge", "Events that are stored."),
    Metric("index_lag_commits", "gauge", "Commits that the full-text index has not taken yet."),
    Metric("index_lag_seconds", "gauge", "For how long something has been waiting for the index."),
    Metric("index_documents", "gauge", "Documents in the full-text index."),
    Metric("index_building", "gauge", "1 while the index is being built, else 0."),
    Metric("index_commit_seconds", "histogram", "Time of a commit of the full-text index."),
    Metric("search_walks", "gauge", "Searches whose cursors hold, with their observations."),
    Metric("imported_files", "counter", "Files of recorders that imports looked at."),
    Metric("imported_sessions", "counter", "Sessions of imports, by outcome.", ("outcome",)),
    Metric("imported_events", "counter", "Events that imports stored."),
    Metric("imported_bytes", "counter", "JSON that imports read, decompressed."),
    Metric("kept_frames", "gauge", "Frames of subscriptions that are kept for others."),
    Metric("kept_frame_bytes", "gauge", "The size of these frames."),
    Metric("event_loop_delay_seconds", "histogram", "How late the event loop is."),
    Metric("tasks", "gauge", "Tasks of the event loop."),
    Metric("threads", "gauge", "Threads of Python."),
)
"""In the order in which they are shown. Beside them: ``process_*`` of the Prometheus client."""


class _Collected(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    @override
    def collect(self) -> Iterable[Family]:
        return self._families


class Metrics:
    """The numbers of one server."""

    def __init__(self, services: Services, operations: Operations) -> None:
        self._services = services
        self._operations = operations

    async def text(self, streams: OpenStreams) -> bytes:
        """Everything, in Prometheus' text format; costs a few small reads and no lock.

        streams: those of the server that is asked.

        Raises:
            PersistenceFailed: the store cannot be read.
        """
        values = await self._values(streams)
        families = [each.family(values[each.name]) for each in METRICS if each.name in values]
        return await asyncio.to_thread(_written, families)

    async def _values(self, streams: OpenStreams) -> dict[str, Values]:
        services = self._services
        async with services.query.observe() as observation:
            counts = await observation.counts()
        values: dict[str, Values] = {
            "info": {(program_version(),): 1},
            "connections": {(kind,): streams.kinds[kind] for kind in ("websocket", "sse")},
            "sessions": counts.sessions,
            "events": counts.events,
            "tasks": len(asyncio.all_tasks()),
            "threads": threading.active_count(),
        }
        values |= self._of_operations()
        values |= self._of_store()
        values |= self._of_imports()
        if services.live is not None:
            values["live_sessions"] = services.live.live_sessions
            values["unwritten_bytes"] = services.live.unwritten_octets
            values["followers"] = services.live.following.followers
            values["follower_refeeds"] = services.live.following.refeeds
        if services.search is not None:
            progress = await services.search.indexing.progress()
            values["index_lag_commits"] = progress.behind
            behind_s = services.search.indexing.behind_s if progress.behind else 0
            values["index_lag_seconds"] = behind_s
            values["index_documents"] = progress.documents
            values["index_building"] = int(progress.building)
            values["index_commit_seconds"] = services.search.indexing.commits
            values["search_walks"] = len(services.search.walks)
        if services.delay is not None:
            values["event_loop_delay_seconds"] = services.delay.delays
        return values

    def _of_operations(self) -> dict[str, Values]:
        records, frames = self._operations.records, self._operations.frames
        return {
            "operations": dict(records.ended.items()),
            "operation_seconds": {(kind,): each for kind, each in records.durations.items()},
            "running_operations": {(kind,): count for kind, count in records.running.items()},
            "kept_frames": len(frames),
            "kept_frame_bytes": frames.kept_bytes,
        }

    def _of_store(self) -> dict[str, Values]:
        writer = self._services.store.writer
        urgent, bulk = writer.waiting
        return {
            "writer_queue": {("urgent",): urgent, ("bulk",): bulk},
            "commit_jobs": writer.jobs_together,
            "commit_seconds": writer.transactions,
            "fsync_seconds": writer.syncs,
            "commit_failures": writer.failures,
            "store_observations": self._services.store.observations,
        }

    def _of_imports(self) -> dict[str, Values]:
        counts = self._services.importer.counts
        outcomes: dict[Labels, Value] = {
            ("imported",): counts.imported,
            ("resumed",): counts.resumed,
            ("unchanged",): counts.unchanged,
            ("refused",): counts.refused,
        }
        return {
            "imported_files": counts.files,
            "imported_sessions": outcomes,
            "imported_events": counts.events,
            "imported_bytes": counts.bytes,
        }


def _written(families: Iterable[Family]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(families))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def metrics_table() -> str:
    """The metrics as a table of Markdown."""
    lines = ["| metric | kind | labels | what it is |", "|---|---|---|---|"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.shown_name}` | {metric.kind} | {labels} | {metric.help} |")
    return "\n".join(lines) + "\n"
