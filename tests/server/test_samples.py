"""The bundled sample sessions keep every rule of the log and show all they are there to show.

The files are read here by a plain JSON reading of its own, not by the product's reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest

from server.samples import sample_sessions
from sessiongraph.event import SessionEvent, SurfaceOp
from sessiongraph.payloads import (
    citations_of,
    content_of,
    is_compaction_checkpoint,
    result_is_error,
    text_of,
    usage_of,
)
from sessiongraph.surface import Surface

PACKED = {
    "text-chunks": ("text-delta", "texts", "text"),
    "reasoning-chunks": ("reasoning-delta", "texts", "text"),
    "tool-call-chunks": ("tool-call-delta", "args", "argumentsDelta"),
}
MESSAGES = {
    "user/message",
    "assistant/message",
    "tool/result",
    "system/message",
    "developer/message",
}


@dataclass
class Sample:
    """One file, its packed rows unpacked."""

    path: Path
    header: dict[str, Any]
    rows: list[dict[str, Any]]
    events: list[dict[str, Any]]

    def of(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == event_type]

    def surface(self, through: int | None = None) -> list[int]:
        nodes: list[int] = []
        for event in self.events[: None if through is None else through + 1]:
            match event.get("surfaceOp"):
                case "append":
                    nodes.append(event["seq"])
                case {"op": "replace", **ends}:
                    start, end = ends.values()
                    nodes[nodes.index(start) : nodes.index(end) + 1] = [event["seq"]]
        return nodes

    @property
    def seed_length(self) -> int | None:
        if "seedLength" in self.header:
            return int(self.header["seedLength"])
        inherited = [e["seq"] for e in self.of("session/end-seed") if e["data"].get("inherited")]
        return inherited[-1] if inherited else None


def unpacked(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if row["type"] not in PACKED:
        yield row
        return
    kind, member_key, delta_key = PACKED[row["type"]]
    data = row["data"]
    times = list(accumulate(data["dt"], initial=row["time0"]))
    assert len(times) == len(data[member_key])
    for offset, (time, piece) in enumerate(zip(times, data[member_key], strict=True)):
        chunk = {"type": kind, "index": data["index"]}
        chunk |= {key: data[key] for key in ("id", "name") if key in data}
        chunk[delta_key] = piece
        yield {
            "type": "assistant/chunk",
            "seq": row["seq0"] + offset,
            "time": time,
            "data": {"turn": data["turn"], "step": data["step"], "chunk": chunk},
        }


def unranged(sources: list[Any]) -> list[int]:
    expanded: list[int] = []
    for member in sources:
        expanded.extend([member] if isinstance(member, int) else range(member[0], member[1] + 1))
    return expanded


def read(path: Path) -> Sample:
    header, *rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    events = [event for row in rows for event in unpacked(row)]
    for event in events:
        if "sourceEventSeqs" in event:
            event["sourceEventSeqs"] = unranged(event["sourceEventSeqs"])
    return Sample(path, header, rows, events)


def read_all() -> dict[str, Sample]:
    with sample_sessions() as folder:
        samples = [read(path) for path in sorted(folder.rglob("session*.jsonl"))]
    return {sample.header["id"]: sample for sample in samples}


SAMPLES = read_all()


@pytest.fixture(params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


def as_product_event(event: Mapping[str, Any]) -> SessionEvent:
    op = event.get("surfaceOp")
    if op == "append":
        surface_op = SurfaceOp()
    elif op is not None:
        surface_op = SurfaceOp(op.get("start", op.get("startSeq")), op.get("end", op.get("endSeq")))
    sources = event.get("sourceEventSeqs")
    return SessionEvent(
        event["seq"],
        event["type"],
        event["time"],
        json.dumps(event["data"]).encode(),
        None if op is None else surface_op,
        None if sources is None else tuple(sources),
        event.get("ignorable", False),
    )


def test_the_folder_is_small_and_laid_out_as_the_recorder_does() -> None:
    assert 12 <= len(SAMPLES) <= 16
    assert sum(sample.path.stat().st_size for sample in SAMPLES.values()) < 400_000
    for session_id, sample in SAMPLES.items():
        cwd, version = sample.header.get("cwd"), sample.header["version"]
        project = "_no-cwd" if cwd is None else f"--{cwd.strip('/').replace('/', '-')}--"
        name = "session.jsonl" if version == 0 else f"session.v{version}.jsonl"
        assert sample.path.parts[-3:] == (project, session_id, name)


def test_headers_have_what_their_generation_asks_for(sample: Sample) -> None:
    header = sample.header
    assert header["type"] == "session"
    assert header["version"] in (0, 3, 4)
    assert isinstance(header["createdAt"], int)
    assert isinstance(header["delegationDepth"], int)
    if header["version"] == 0:
        assert "isSeeded" not in header
    else:
        assert header["isSeeded"] is (sample.seed_length is not None)
        assert "seedLength" not in header


def test_seqs_are_dense_and_the_surface_folds_without_breaking_a_rule(sample: Sample) -> None:
    surface = Surface(lambda seq: sample.events[seq]["data"])
    for expected, event in enumerate(sample.events):
        assert event["seq"] == expected
        surface.advance(as_product_event(event))
    assert surface.current() == sample.surface()


def test_only_messages_touch_the_surface(sample: Sample) -> None:
    for event in sample.events:
        assert ("surfaceOp" in event) == (event["type"] in MESSAGES)
        assert event["type"] in MESSAGES or "sourceEventSeqs" not in event
        assert set(event) <= {"type", "seq", "time", "data", "surfaceOp", "sourceEventSeqs"}


def test_events_lie_between_october_and_november_2026(sample: Sample) -> None:
    first, last = 1_790_812_800_000, 1_796_083_200_000
    assert all(first <= event["time"] < last for event in sample.events)


def test_calls_and_results_belong_together(sample: Sample) -> None:
    announced = {
        block["id"]: block
        for event in sample.of("assistant/message")
        for block in content_of(event["type"], event["data"])
        if block["type"] == "tool-call"
    }
    started = {event["data"]["callId"]: event for event in sample.of("tool/call")}
    assert announced.keys() == started.keys()
    for call_id, call in started.items():
        assert call["data"]["arguments"] == announced[call_id]["arguments"]
        json.loads(call["data"]["arguments"])
    for result in sample.of("tool/result"):
        assert result["data"]["message"]["source"]["callId"] in started
        assert ("error" in result["data"]) == result_is_error(result["data"])


def test_shapes_are_those_of_their_generation(sample: Sample) -> None:
    version = sample.header["version"]
    roles = {result["data"]["message"]["role"] for result in sample.of("tool/result")}
    assert roles <= {"tool" if version == 4 else "user"}
    assert bool(sample.of("system/message")) == (version >= 3)
    assert not sample.of("assistant/chunk") or version == 0
    for message in sample.of("assistant/message"):
        assert ("stream" in message["data"]) == (version >= 3)
    for event in sample.events:
        if isinstance(op := event.get("surfaceOp"), dict):
            ends = {"start", "end"} if version == 0 else {"startSeq", "endSeq"}
            assert set(op) == {"op"} | ends


@pytest.mark.parametrize(
    ("fork", "parent"),
    [
        ("harbor-ledger-backfill", "harbor-ledger-migration"),
        ("harbor-retry-fork-a", "harbor-retry"),
        ("harbor-retry-fork-b", "harbor-retry"),
        ("harbor-retry-fork-a-jitter", "harbor-retry-fork-a"),
    ],
)
def test_a_fork_begins_with_exactly_its_parents_events(fork: str, parent: str) -> None:
    child = SAMPLES[fork]
    cut = child.seed_length
    assert child.header["parentSession"] == parent
    assert cut is not None
    assert child.events[:cut] == SAMPLES[parent].events[:cut]
    assert child.events[cut]["type"] == "session/end-seed"
    assert child.events[cut - 1]["type"] != "turn/start"
    assert len(child.events) > cut + 1
    assert child.header["createdAt"] > child.events[cut - 1]["time"]


def test_one_family_has_two_forks_and_a_fork_of_a_fork() -> None:
    def children(of: str) -> set[str]:
        return {i for i, s in SAMPLES.items() if s.header.get("parentSession") == of}

    assert children("harbor-retry") == {"harbor-retry-fork-a", "harbor-retry-fork-b"}
    assert children("harbor-retry-fork-a") == {"harbor-retry-fork-a-jitter"}


def test_subagents_are_two_and_one_below_them() -> None:
    found = {
        (i, s.header["parentSession"], s.header["delegationDepth"], s.header["agentPreset"])
        for i, s in SAMPLES.items()
        if s.header.get("origin") == "subagent"
    }
    assert found == {
        ("harbor-audit-api", "harbor-audit", 1, "researcher"),
        ("harbor-audit-tests", "harbor-audit", 1, "researcher"),
        ("harbor-audit-api-docs", "harbor-audit-api", 2, "reader"),
    }
    for session_id, parent, _, _ in found:
        assert SAMPLES[session_id].of("subagent/descriptor")
        facts = [event["data"] for event in SAMPLES[parent].of("subagent/catalog")]
        created = {fact["childId"]: fact["childCreatedAt"] for fact in facts}
        assert created[session_id] == SAMPLES[session_id].header["createdAt"]


def test_one_session_is_an_orphan() -> None:
    orphans = {i for i, s in SAMPLES.items() if s.header.get("parentSession", i) not in SAMPLES}
    assert orphans == {"harbor-oncall"}


def test_three_compactions_each_replace_the_one_before() -> None:
    ledger = SAMPLES["harbor-ledger-migration"]
    checkpoints = [e for e in ledger.of("user/message") if is_compaction_checkpoint(e["data"])]
    assert len(checkpoints) == 3
    for earlier, later in pairwise(checkpoints):
        assert later["surfaceOp"]["start"] == earlier["seq"]
        assert later["surfaceOp"]["start"] > later["surfaceOp"]["end"]
    assert ledger.surface()[0] == checkpoints[-1]["seq"]
    for checkpoint in checkpoints:
        begin, summary, *removed = checkpoint["sourceEventSeqs"]
        assert ledger.events[begin]["type"] == "compaction/start"
        assert ledger.events[summary]["data"]["shadowedSeqs"] == removed
        before = ledger.surface(checkpoint["seq"] - 1)
        assert removed == before[: len(removed)]
        assert len(before) > len(removed), "a recent tail stays"


def test_one_tool_result_is_pruned() -> None:
    pruned = [
        (session_id, event["seq"], event["surfaceOp"])
        for session_id, sample in SAMPLES.items()
        for event in sample.of("tool/result")
        if event["surfaceOp"] != "append"
    ]
    assert pruned == [
        ("harbor-zh-pool", 13, {"op": "replace", "startSeq": 9, "endSeq": 9}),
    ]


def test_two_sessions_are_in_chinese() -> None:
    han = re.compile(r"[\u4e00-\u9fff]")
    chinese = {
        session_id
        for session_id, sample in SAMPLES.items()
        if any(han.search(event["data"]["title"]) for event in sample.of("session/title"))
    }
    assert chinese == {"harbor-zh-pool", "harbor-zh-review"}
    for session_id in chinese:
        texts = (text_of(content_of(e["type"], e["data"])) for e in SAMPLES[session_id].events)
        assert len(han.findall("".join(texts))) > 300


def test_the_tour_is_streamed_and_its_deltas_join_to_the_messages() -> None:
    tour = SAMPLES["harbor-tour"]
    assert {row["type"] for row in tour.rows} >= set(PACKED)
    for message in tour.of("assistant/message"):
        joined: dict[int, str] = {}
        for seq in message["sourceEventSeqs"]:
            chunk = tour.events[seq]["data"]["chunk"]
            piece = chunk.get("text", chunk.get("argumentsDelta"))
            if piece is not None:
                joined[chunk["index"]] = joined.get(chunk["index"], "") + piece
        blocks = message["data"]["message"]["content"]
        assert joined == {
            index: block.get("text", block.get("arguments")) for index, block in enumerate(blocks)
        }
        if not message["data"].get("interrupted"):
            chunks = [tour.events[seq]["data"]["chunk"] for seq in message["sourceEventSeqs"]]
            reported = [chunk["usage"] for chunk in chunks if chunk["type"] == "usage"]
            assert reported == [message["data"]["usage"]]


def test_embedded_streams_join_to_the_messages(sample: Sample) -> None:
    for message in sample.of("assistant/message"):
        if "stream" not in message["data"]:
            continue
        joined: dict[int, str] = {}
        for row in message["data"]["stream"]:
            if row["type"] in PACKED:
                pieces = row[PACKED[row["type"]][1]]
                assert len(row["dt"]) == len(pieces) - 1
                joined[row["index"]] = joined.get(row["index"], "") + "".join(pieces)
        blocks = message["data"]["message"]["content"]
        assert joined == {
            index: block.get("text", block.get("arguments")) for index, block in enumerate(blocks)
        }
        assert usage_of(message["data"]) is not None


def test_one_session_has_no_working_directory_and_one_crashed() -> None:
    assert [i for i, s in SAMPLES.items() if "cwd" not in s.header] == ["scratch-money-regex"]
    crashed = [
        session_id
        for session_id, sample in SAMPLES.items()
        if len(sample.of("turn/start")) != len(sample.of("turn/end"))
    ]
    assert crashed == ["harbor-ledger-backfill"]
    assert SAMPLES[crashed[0]].events[-1]["type"] == "tool/call"


def test_references_cite_samples_as_they_were() -> None:
    cited = []
    for session_id, sample in SAMPLES.items():
        for event in sample.of("user/message"):
            for citation in citations_of(event["data"]):
                target = SAMPLES[citation.target_id]
                through = citation.captured_through_seq
                assert through is not None
                assert target.events[through]["time"] < event["time"]
                cited.append((session_id, citation.target_id, through < len(target.events) - 1))
                text = event["data"]["content"][0]["text"]
                opening, closing = "<referenced-sessions>\n", "\n</referenced-sessions>"
                snapshots = json.loads(text.split(opening)[1].split(closing)[0])
                assert citation.target_id in {s["sessionId"] for s in snapshots}
                assert event["data"]["source"]["version"] == 1
    assert sorted(cited) == [
        ("harbor-release", "harbor-ledger-migration", False),
        ("harbor-release", "harbor-retry-fork-a-jitter", False),
        ("harbor-zh-review", "harbor-retry-fork-a", True),
    ]


def test_the_story_has_titles_todos_goals_plans_errors_and_aborts() -> None:
    types = {event["type"] for sample in SAMPLES.values() for event in sample.events}
    assert types >= {
        "session/title",
        "todo/write",
        "goal/change",
        "plan/mode",
        "permission/preset",
        "sandbox/mode",
        "approval/policy",
        "command/run",
        "request/context",
        "assistant/attempt",
        "llm/retry",
    }
    reasons = {e["data"]["reason"]["kind"] for s in SAMPLES.values() for e in s.of("turn/end")}
    assert reasons == {"completed", "aborted", "error"}
    assert any(
        event["data"].get("interrupted")
        for sample in SAMPLES.values()
        for event in sample.of("assistant/message")
    )
