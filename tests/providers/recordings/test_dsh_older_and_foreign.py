"""What older builds of dsh and its forks write is read by content, kept, and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessiongraph.event import APPEND, SessionEvent
from tests.providers.recordings.dsh_writing import Reading, header_row, read, row, write
from tests.strategies import direct_result, user_message, wrapped_result


def reading_of(tmp_path: Path, *rows: Any, version: int = 0) -> Reading:
    return read(write(tmp_path / "log.jsonl", [header_row(version), *rows]))


@pytest.mark.parametrize("name", ["start", "summary", "end", "prune"])
def test_compact_events_are_renamed_and_noted(tmp_path: Path, name: str) -> None:
    reading = reading_of(tmp_path, row(0, f"compact/{name}", {"a": 1}))
    assert reading.events[0]["type"] == f"compaction/{name}"
    assert reading.events[0]["data"] == {"a": 1}
    assert reading.notes == (
        f"Older event types are read under newer names: compact/{name} as compaction/{name} (1).",
    )


def test_a_context_message_is_a_user_message(tmp_path: Path) -> None:
    data = {"content": [{"type": "text", "text": "x"}], "source": {"kind": "plugin", "plugin": "p"}}
    reading = reading_of(tmp_path, row(0, "context/message", data, surfaceOp="append"))
    assert reading.events[0]["type"] == "user/message"
    assert reading.events[0]["data"] == data


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1, "message": user_message("steer")},
        {"turn": 1, **user_message("steer")},
    ],
)
def test_a_steering_message_is_the_user_message_inside_of_it(tmp_path: Path, data: Any) -> None:
    reading = reading_of(tmp_path, row(0, "steering/message", data, surfaceOp="append"))
    (event,) = reading.events
    assert event["type"] == "user/message"
    assert event["data"]["content"] == [{"type": "text", "text": "steer"}]
    assert event["data"]["source"] == {"kind": "user"}
    assert "turn" not in event["data"]


def test_other_older_payloads_are_left_as_logged(tmp_path: Path) -> None:
    data = {"turn": 1, "reason": "aborted"}
    reading = reading_of(tmp_path, row(0, "turn/end", data))
    assert reading.events[0]["data"] == data
    assert reading.notes == ()


def test_a_message_without_surface_op_is_read_as_appended(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, row(0, "user/message", user_message("a")))
    (entry,) = reading.entries
    assert isinstance(entry, SessionEvent)
    assert entry.surface_op == APPEND
    assert reading.notes == ("1 message event without surfaceOp are read as appended.",)


def test_an_unknown_type_is_kept_opaque_and_noted(tmp_path: Path) -> None:
    rows = (row(0, "future/thing", {"x": 1}), row(1, "future/thing", {}), row(2, "odd", {}))
    reading = reading_of(tmp_path, *rows)
    assert [event["type"] for event in reading.events] == ["future/thing", "future/thing", "odd"]
    assert reading.notes == (
        "Types unknown to dsh are kept as opaque events: future/thing (2), odd (1).",
    )


def test_an_unknown_type_that_is_ignorable_needs_no_note(tmp_path: Path) -> None:
    assert reading_of(tmp_path, row(0, "future/thing", {}, ignorable=True)).notes == ()


def test_the_note_on_unknown_types_is_bounded(tmp_path: Path) -> None:
    rows = (row(seq, f"future/{seq}", {}) for seq in range(500))
    (note,) = reading_of(tmp_path, *rows).notes
    assert len(note) < 1000
    assert "others (460)" in note


@pytest.mark.parametrize("version", [5, 7])
def test_a_version_of_a_fork_is_read_and_said_to_be_unofficial(
    tmp_path: Path, version: int
) -> None:
    result = row(0, "tool/result", direct_result("c", []), surfaceOp="append")
    reading = reading_of(tmp_path, result, version=version)
    assert reading.header.version == version
    assert reading.notes == (
        f"Unofficial: version {version} is not one of dsh's own (0 to 4); read by its content.",
    )


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("tool/result", wrapped_result("c", [])),
        ("user/message", user_message("a", "plugin")),
    ],
)
def test_bodies_of_version_3_under_version_4_are_unofficial(
    tmp_path: Path, event_type: str, data: Any
) -> None:
    reading = reading_of(tmp_path, row(0, event_type, data, surfaceOp="append"), version=4)
    assert reading.events[0]["data"] == data
    assert reading.notes == (
        "Unofficial: version 4 with message bodies in the shape of version 3; read by its content.",
    )


def test_bodies_of_version_4_under_version_3_are_unofficial(tmp_path: Path) -> None:
    result = row(0, "tool/result", direct_result("c", []), surfaceOp="append")
    (note,) = reading_of(tmp_path, result, version=3).notes
    assert note.startswith("Unofficial: version 3 with message bodies in the shape of version 4")


def test_text_that_looks_like_a_foreign_body_is_only_text(tmp_path: Path) -> None:
    text = '{"role":"user","type":"tool-result","kind":"plugin"}'
    rows = (
        row(0, "user/message", user_message(text), surfaceOp="append"),
        row(1, "assistant/message", {"meta": [{"kind": "plugin"}]}, surfaceOp="append"),
    )
    assert reading_of(tmp_path, *rows, version=4).notes == ()
